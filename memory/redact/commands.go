package redact

import "strings"

// command is a program that takes a password as an option on its command line.
type command struct {
	name   string
	option string // of one letter
	joined bool   // the password follows the option without a space
	apart  bool   // it is the next argument
	user   bool   // it is behind the colon of user:password
}

var commands = []command{
	{name: "curl", option: "-u", joined: true, apart: true, user: true},
	{name: "mysql", option: "-p", joined: true},
	{name: "mysqldump", option: "-p", joined: true},
	{name: "mysqladmin", option: "-p", joined: true},
	{name: "mysqlimport", option: "-p", joined: true},
	{name: "mariadb", option: "-p", joined: true},
	{name: "mariadb-dump", option: "-p", joined: true},
	{name: "sshpass", option: "-p", joined: true, apart: true},
	{name: "7z", option: "-p", joined: true},
	{name: "mongo", option: "-p", apart: true},
	{name: "mongosh", option: "-p", apart: true},
	{name: "mongodump", option: "-p", apart: true},
	{name: "mongorestore", option: "-p", apart: true},
	{name: "docker login", option: "-p", apart: true},
	{name: "podman login", option: "-p", apart: true},
	{name: "redis-cli", option: "-a", apart: true},
	{name: "ldapsearch", option: "-w", apart: true},
	{name: "ldapmodify", option: "-w", apart: true},
	{name: "sqlcmd", option: "-P", joined: true, apart: true},
	{name: "zip", option: "-P", joined: true, apart: true},
	{name: "unzip", option: "-P", joined: true, apart: true},
}

// commandAt remembers the command that begins at a place.
func (r *redactor) commandAt(at int) {
	for _, c := range r.forms.commands[r.text[at]] {
		if strings.HasPrefix(r.text[at:], c.name) && strings.HasPrefix(r.text[at+len(c.name):], " ") {
			r.command = c
			return
		}
	}
}

// option takes the password in an option of the command; it returns 0 if there
// is none.
func (r *redactor) option(at int) (next int) {
	c := r.command
	if c == nil {
		return 0
	}
	start, long := at+len(c.option), c.user && strings.HasPrefix(r.text[at:], "--user ")
	switch {
	case long:
		start = at + len("--user ")
	case !strings.HasPrefix(r.text[at:], c.option):
		return 0
	case strings.HasPrefix(r.text[start:], " "):
		if !c.apart {
			return 0 // the program asks for it
		}
		start++
	case !c.joined:
		return 0
	}
	value, _ := r.value(start)
	if c.user {
		user, _, ok := strings.Cut(r.text[value.start:value.end], ":")
		if !ok {
			return 0
		}
		value.start += len(user) + 1
	}
	if given := r.text[value.start:value.end]; placeholder(given) && len(given) != 1 || strings.HasPrefix(given, "-") {
		return 0
	}
	r.add(value.start, value.end, "password")
	return value.end
}
