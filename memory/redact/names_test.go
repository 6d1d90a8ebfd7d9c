package redact_test

import (
	"testing"

	"mylm/memory/redact"
)

func TestName(t *testing.T) {
	for name, want := range map[string]bool{
		"api_key": true, "KEY": true, "auth_url": true, "X-Api-Token": true, "client_secret": true, "Cookie": true, "db_password": true,
		"max_tokens": false, "tokens": false, "tokens_token": true, "model": false, "": false, "region": false,
	} {
		if got := redact.Name(name); got != want {
			t.Errorf("Name(%q) = %v", name, got)
		}
	}
}

func TestPassword(t *testing.T) {
	for address, want := range map[string]string{
		"http://ada:hunter2@example.com:11434": "hunter2",
		"ada:hun/ter2@host":                    "hun/ter2",
		"http://ada:a@b@host":                  "a@b",
		"http://ada@host":                      "",
		"http://host:80/x@y":                   "80/x",
		"host":                                 "",
		"":                                     "",
	} {
		start, end, ok := redact.Password(address)
		if ok != (want != "") || address[start:end] != want {
			t.Errorf("Password(%q) = %q, %v", address, address[start:end], ok)
		}
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"serve --api-key abc --port 80":             "abc",
		"-token=abc":                                "abc",
		"API_KEY='abc' run":                         "abc",
		`--header "Authorization: Bearer abc" --x`:  "abc",
		"--max-tokens 512 --tokens=1 --model heron": "",
	} {
		got := ""
		for _, at := range redact.Arguments(args) {
			got += args[at[0]:at[1]]
		}
		if got != want {
			t.Errorf("Arguments(%q) = %q", args, got)
		}
	}
}
