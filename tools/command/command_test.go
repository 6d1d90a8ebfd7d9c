package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mylm/tools/command"
)

// place is a workspace with files, links and a repository.
func place(t *testing.T) command.Place {
	t.Helper()
	root, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{"src", ".git/hooks", "empty"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"a.txt", "b.txt", "src/main.go", "src/x y.go", ".env", "key.pem", "empty/-rf"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"-": "/proc/self/environ", "dirlink": outside, "link": "a.txt", "etc": "/etc", "envlink": ".env", "dangling": outside + "/none"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	return command.Place{Root: root, Env: []string{"PATH=/usr/bin:/bin", "HOME=/home/ada"}}
}

// Plain readers of files of the workspace need no question even without a sandbox;
// nothing else is one.
func TestReads(t *testing.T) {
	at := place(t)
	for line := range strings.Lines(`ls
ls -la src
cat a.txt b.txt
head -n 20 src/main.go | tail -5
grep -rn "func main" src | head
grep -n /api/v1 a.txt || echo no
grep -rn --include=*.go main .
wc -l *.txt
cat 'src/x y.go'
cd src && cat main.go | wc -l
sort -u a.txt; cut -d, -f1 b.txt
ls 2>/dev/null
cat a.txt 2>&1 | head
wc < a.txt
cat link
cat src/../a.txt
ls -R
sha256sum a.txt && pwd`) {
		line = strings.TrimSuffix(line, "\n")
		if a := command.Analyse(line, at); !a.Reads {
			t.Errorf("%q is no reader: %s", line, a.Why)
		}
	}
	for line := range strings.Lines(`cat /etc/passwd
cat ../x
cat ~/x
cat etc/passwd
cat dirlink/notyet
cat dangling
cat < dangling
tr "\0" "\n" < -
cat e*/passwd
cat .env
wc < key.pem
cat *.pem
cat .git/config
cat empty/../../x
cat dirlink/../a.txt
cat src/../none
grep -f a.txt b.txt
grep -R x .
grep --file=a.txt b.txt
grep -ex etc/passwd
grep -ex ~/secret
grep -ex e*/passwd
cat .e*
cat envlink
sort -o x a.txt
sort --output=x a.txt
ls *; rm x
tail -f a.txt
python3 x.py
git status
find . -delete
sed -i s/a/b/ a.txt
./ls
src/ls
LANG=C ls
ls > x
ls &
ls $HOME
ls $(pwd)
ls {a,b}.txt
ls [a-z]*
cd .. && ls
cd etc && cat passwd
ls; cd src && cat main.go
(ls)
if true; then ls; fi
ls &>x
cat $'a.txt'
l\s
"ls"
eval ls
cd empty && cat *
ls 'x`) {
		line = strings.TrimSuffix(line, "\n")
		if a := command.Analyse(line, at); a.Reads || a.Why == "" {
			t.Errorf("%q is a reader", line)
		}
	}
	for name, change := range map[string]func(*command.Place){
		"a PATH that holds the workspace": func(p *command.Place) { p.Env = []string{"PATH=/usr/bin:" + p.Root} },
		"a relative PATH":                 func(p *command.Place) { p.Env = []string{"PATH=.:/usr/bin"} },
		"another directory":               func(p *command.Place) { p.Dir = "/etc" },
	} {
		p := at
		if change(&p); command.Analyse("cat passwd", p).Reads {
			t.Errorf("%s: is a reader", name)
		}
	}
}

// What a line holds is seen wherever it is in it.
func TestSeen(t *testing.T) {
	for line, want := range map[string]string{
		"ls; rm x":                         "ls | rm x",
		"if a; then b $(c d); fi":          "a | b $(...) | c d",
		"nice sh -c 'rm y; z'":             "nice sh -c rm y; z | sh -c rm y; z | rm y | z",
		"x=push; git $x \"$y\" ${z:-deep}": "git push $y deep",
		"rm {a,b}{1,2}":                    "rm a1 a2 b1 b2",
		"cat < in > out":                   "cat | < in | > out",
		"a=(x 'y z'); rm \"${a[@]}\"":      "rm x y z",
		"echo {1..1000000000}":             "echo {1..1000000000}",
		"echo {a,b,c,d,e,f,g}{a,b,c,d,e,f,g}{a,b,c,d,e,f,g}": "echo {a,b,c,d,e,f,g}{a,b,c,d,e,f,g}{a,b,c,d,e,f,g}",
		"rm $(( 1 + 1 )) @(a|b)":                             "rm 2 @(a|b)",
		"rm 'x":                                              "rm x",
	} {
		var got []string
		for _, c := range command.Analyse(line, command.Place{Root: "/work"}).Seen {
			got = append(got, strings.Join(c.Words, " "))
		}
		if strings.Join(got, " | ") != want {
			t.Errorf("%q: %q, want %q", line, strings.Join(got, " | "), want)
		}
	}
}

// Calls are there only if nothing else happens, and as both shells read them.
func TestCalls(t *testing.T) {
	at := place(t)
	a := command.Analyse(`go test ./... 2>&1 | tail -n 3 && echo "a b"`, at)
	var got [][]string
	for _, c := range a.Calls {
		got = append(got, c.Words)
	}
	want := [][]string{{"go", "test", "./..."}, {"tail", "-n", "3"}, {"echo", "a b"}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, line := range []string{"", "ls > x", "ls $X", "ls $(x)", "X=1 ls", "ls &", "ls <<< x", "ls &>x", "ls |& wc", "(ls)", "f() { ls; }", "ls; }", strings.Repeat("ls;", 20_000)} {
		if a := command.Analyse(line, at); a.Calls != nil {
			t.Errorf("%.20q: %d calls", line, len(a.Calls))
		}
	}
}

// No line makes the analysis fail, or take long.
func FuzzAnalyse(f *testing.F) {
	for _, line := range []string{"ls -la | wc", "a=(x); ${a[@]:1}", "x=$((x=1))", "{a,b}{c,d}", "echo ${x@Q} ${!x*}", "sh -c 'sh -c x'", "cat <<E\nx\nE", "echo ${x//a/b}", "[[ a =~ b ]]"} {
		f.Add(line)
	}
	at := command.Place{Root: f.TempDir(), Env: []string{"PATH=/usr/bin"}}
	f.Fuzz(func(t *testing.T, line string) {
		if a := command.Analyse(line, at); a.Reads && (len(a.Calls) == 0 || a.Why != "") {
			t.Errorf("%q: %+v", line, a)
		}
	})
}
