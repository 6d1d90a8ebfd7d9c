package policy_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mylm/tools"
	"mylm/tools/command"
	"mylm/tools/policy"
)

func newPolicy(t *testing.T, o policy.Options) *policy.Policy {
	t.Helper()
	p, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run is a call of execute_command as its tool describes it.
func run(t *testing.T, line string) policy.Call {
	t.Helper()
	at := command.Place{Root: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin", "HOME=/home/ada"}}
	effect := tools.Runs
	if command.Analyse(line, at).Reads {
		effect = tools.Reads
	}
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return policy.Call{Tool: policy.CommandTool, Args: args, Effect: effect, Line: line, Place: at}
}

func TestDefaultDeny(t *testing.T) {
	p := newPolicy(t, policy.Options{Mode: policy.Yolo})
	for _, line := range strings.Split(forbidden, "\n") {
		if line = strings.ReplaceAll(line, `%n`, "\n"); line == "" {
			continue
		}
		if d := p.Decide(run(t, line)); d.Verdict != policy.Deny || d.Rule == "" {
			t.Errorf("%q: %s (%s), want deny", line, d.Verdict, d.Why)
		}
	}
	for _, line := range strings.Split(fine, "\n") {
		if d := p.Decide(run(t, line)); line != "" && d.Verdict != policy.Allow {
			t.Errorf("%q: %s (%s), want allow", line, d.Verdict, d.Why)
		}
	}
}

const forbidden = `
rm -rf /
rm -fr /
rm -r -f /
rm -Rf /
rm --recursive --force /
rm -rf --no-preserve-root /
rm -r /
rm -rf x y /
rm -rf -- /
rm -rf //
rm -rf /./
rm -rf /tmp/..
rm -rf /*
rm -rf ~
rm -rf ~/
rm -rf ~/*
rm -rf $HOME
rm -rf "$HOME"
rm -rf "${HOME}"/*
rm -rf /home/ada
rm -rf /home/ada/
rm -rf /etc
rm -rf '/'
r''m -rf /
"rm" "-rf" "/"
r\m -rf /
/bin/rm -rf /
rm$IFS-rf$IFS/
rm${IFS}-rf${IFS}/
{rm,-rf,/}
$'rm' -rf $'\x2f'
ls; rm -rf /
ls && rm -rf /
ls & rm -rf /
ls | rm -rf /
ls%nrm -rf /
(rm -rf /)
{ rm -rf /; }
if true; then rm -rf /; fi
f() { rm -rf /; }; f
echo $(rm -rf /)
echo "$(rm -rf /)"
cat <(rm -rf /)
sudo rm -rf /
sudo -u root rm -rf /
sudo -n -- rm -rf /
sudo env X=1 rm -rf /
env -i rm -rf /
nohup rm -rf /
nice -n 5 rm -rf /
nice nice nice nice nice nice nice nice nice nice rm -rf /
env env env env env env env env rm -rf /
timeout 5 rm -rf /
timeout -k 5 10 rm -rf /
xargs rm -rf /
exec rm -rf /
command rm -rf /
busybox rm -rf /
X=1 rm -rf /
sh -c 'rm -rf /'
bash -lc "rm -rf /"
bash -c 'ls; rm -rf ~'
sudo sh -c 'rm -rf /'
sudo bash -c "sh -c 'rm -rf /'"
eval rm -rf /
eval "rm -rf /"
su -c 'rm -rf /'
find . -exec rm -rf / \;
find / -delete
find / -type f -delete
rm -rf / && (
chmod -R 777 /
chown -R me ~
mkfs.ext4 /dev/sda1
mkfs /dev/sda1
sudo mkfs.xfs x
dd if=/dev/zero of=/dev/sda
dd of=/dev/nvme0n1 if=x bs=1M
cat x > /dev/sda
echo x >> /dev/sdb1
1<> /dev/sda
tee /dev/sda
cp x /dev/sda
shred -n 1 /dev/sda
shutdown now
sudo reboot
systemctl poweroff
init 0
:(){ :|:& };:
bomb() { bomb | bomb & }; bomb
rm --r --f /
rm -rf /{etc,usr}
cd / && rm -rf *
cd / && rm -rf .
cd ~; rm -rf ./*
cd; rm -rf *
cd $HOME && rm -rf .
cd /tmp/.. && sudo rm -rf etc
cd /; cd usr; rm -rf ../home
r$@m -rf /
x=/; rm -rf $x
x=(y /); rm -rf "${x[@]}"
HOME=/tmp rm -rf $HOME
HOME= rm -rf $HOME
x=; rm -rf /$x
x='rm -rf /' eval '$x'
npm exec -- reboot
tmux new 'rm -rf /'
f() { f & f & }; f
`

const fine = `
rm -rf build
rm -r ./x
rm /tmp/x
rm -rf /tmp/x
rm -rf ~/x
rm x
echo rm -rf /
grep 'rm -rf /' x
grep -r shutdown .
timeout 5 grep -r shutdown .
sudo echo hi
git commit -m reboot
dd if=/dev/sda of=x
cat /dev/sda
ls /
find / -name x
chmod -R 755 x
echo x > /dev/null
f() { f; }
cd /tmp/x && rm -rf *
cd build && rm -rf ./*
x=build; rm -rf $x
rm -rf /tmp/x*
notify-send 'halt the presses'
bash -c 'echo halt' halt
`

func TestDenyRules(t *testing.T) {
	for name, test := range map[string]struct {
		rule, line string
		denied     bool
	}{
		"a command":                 {"execute_command(git push)", "git push origin main", true},
		"another subcommand":        {"execute_command(git push)", "git pull", false},
		"not in the middle":         {"execute_command(git push)", "git commit -m push", false},
		"flags in front":            {"execute_command(git push)", "git -v push", true},
		"behind others":             {"execute_command(git push)", "ls; git push", true},
		"with a star at the end":    {"execute_command(rm -rf *)", "rm -rf x", true},
		"letters apart":             {"execute_command(rm -rf *)", "rm -f -r x", true},
		"one letter missing":        {"execute_command(rm -rf *)", "rm -r x", false},
		"a long flag":               {"execute_command(git push --force)", "git push --force", true},
		"a long flag with a value":  {"execute_command(git push --force-with-lease)", "git push --force-with-lease=x", true},
		"a flag behind --":          {"execute_command(cat -n)", "cat -- -n", false},
		"either":                    {"execute_command(npm|yarn publish)", "yarn publish", true},
		"a star in a word":          {"execute_command(kubectl * prod-*)", "kubectl -n x delete prod-db", true},
		"a star is no slash":        {`execute_command(cat \*)`, "cat x", false},
		"a star itself":             {`execute_command(cat \*)`, "cat *", true},
		"everything":                {"execute_command", "ls", true},
		"every tool":                {"*", "ls", true},
		"another tool":              {"write_file(*)", "ls", false},
		"only reads":                {"execute_command(cat *.pem)", "cat x.pem", true},
		"a flag's value":            {"execute_command(git push)", "git -C . push", true},
		"two of them":               {"execute_command(git push)", "git -C . -c a.b=c push", true},
		"a long one":                {"execute_command(git push)", "git --git-dir .git push", true},
		"no value":                  {"execute_command(git push)", "git --no-pager push", true},
		"a value that is no word":   {"execute_command(git push)", "git commit -m push", false},
		"of another program":        {"execute_command(npm publish)", "npm --prefix sub publish", true},
		"a version manager":         {"execute_command(git push)", "mise exec -- git push", true},
		"setpriv":                   {"execute_command(git push)", "setpriv git push", true},
		"rlwrap":                    {"execute_command(git push)", "rlwrap git push", true},
		"an unknown program":        {"execute_command(git push)", "frobnicate --fast x git push", true},
		"its shell":                 {"execute_command(git push)", "frobnicate x sh -c 'git push'", true},
		"its path":                  {"execute_command(git push)", "frobnicate x /usr/bin/git -C y push", true},
		"a toolchain":               {"execute_command(git push)", "rustup run stable git push", true},
		"a text that is split":      {"execute_command(git push)", "env -S 'git push'", true},
		"a long flag to split":      {"execute_command(git push)", "env --split-string='git push'", true},
		"its short form":            {"execute_command(git push)", "env --s 'git push'", true},
		"and a word of its own":     {"execute_command(git push)", "env -vS 'git push'", true},
		"submodules":                {"execute_command(git push)", "git submodule foreach --recursive git push", true},
		"submodules, one word":      {"execute_command(make)", "git submodule foreach 'cd x && make'", true},
		"bisect":                    {"execute_command(make deploy)", "git bisect run make deploy", true},
		"rebase":                    {"execute_command(git push)", "git rebase -i --exec 'git push' HEAD~3", true},
		"rebase, short":             {"execute_command(git push)", "git rebase -x 'git push' HEAD~3", true},
		"rebase, joined":            {"execute_command(git push)", "git rebase '-xgit push' HEAD~3", true},
		"rebase, abbreviated":       {"execute_command(git push)", "git rebase --exe='git push' HEAD~3", true},
		"git's filter":              {"execute_command(make deploy)", "git filter-branch --tree-filter 'make deploy' HEAD", true},
		"a here-string":             {"execute_command(git push)", "bash <<< 'git push'", true},
		"a here-string for sudo":    {"execute_command(git push)", "sudo -u x bash -s <<< 'git push'", true},
		"a here-document":           {"execute_command(git push)", "sh <<EOF\ncd x\ngit push\nEOF", true},
		"one that is quoted":        {"execute_command(git push)", "cat <<'EOF' | sh\ngit push\nEOF", true},
		"one that is only text":     {"execute_command(git push)", "cat <<'EOF' > x\ngit push\nEOF", false},
		"a piped text":              {"execute_command(git push)", "echo 'git push' | tee x | bash", true},
		"a printed text":            {"execute_command(git push)", "printf '%s\\n' 'git push' | sudo sh", true},
		"a piped group":             {"execute_command(git push)", "{ echo x; echo git push; } | (sh)", true},
		"a text that is not run":    {"execute_command(git push)", "echo 'git push' | grep x; sh x.sh", false},
		"a text that is sourced":    {"execute_command(git push)", ". /dev/stdin <<< 'git push'", true},
		"tmux":                      {"execute_command(git push)", "tmux new-session -d git push", true},
		"tmux, one word":            {"execute_command(git push)", "tmux new-session -d 'cd x; git push'", true},
		"screen":                    {"execute_command(git push)", "screen -dm sh -c 'git push'", true},
		"parallel":                  {"execute_command(git push)", "parallel git ::: push", false}, // composed
		"parallel, one word":        {"execute_command(git push)", "parallel 'git push' ::: x", true},
		"watch":                     {"execute_command(make)", "watch -n 5 make", true},
		"watch, joined":             {"execute_command(git push)", "watch -n5 git push", true},
		"script":                    {"execute_command(git push)", "script -qc 'git push' /dev/null", true},
		"script, joined":            {"execute_command(git push)", "script '-cgit push' /dev/null", true},
		"script, long":              {"execute_command(git push)", "script --command='git push'", true},
		"script, abbreviated":       {"execute_command(git push)", "script --comm 'git push'", true},
		"a shell's other values":    {"execute_command(git push)", "bash -c -o pipefail 'git push'", true},
		"flock":                     {"execute_command(make)", "flock x make", true},
		"flock with a flag":         {"execute_command(make)", "flock -n x make", true},
		"flock with a line":         {"execute_command(git push)", "flock x -c 'git push'", true},
		"the shortest long names":   {"execute_command(rm -rf)", "rm --r --f x", true},
		"an abbreviated flag":       {"execute_command(git push --delete)", "git push --del x", true},
		"a variable of make":        {"execute_command(make deploy)", "make X=1 deploy", true},
		"another target":            {"execute_command(make deploy)", "make -j4 build deploy", true},
		"not this target":           {"execute_command(make deploy)", "make build", false},
		"a task of many":            {"execute_command(just deploy)", "just build deploy", true},
		"escapes of four digits":    {"execute_command(git push)", `$'g\u69t' $'\160ush'`, true},
		"parameters that are none":  {"execute_command(git push)", `g$@it pu"$*"sh`, true},
		"nothing in its place":      {"execute_command(git push)", `$1 git $9 push`, true},
		"a variable of the line":    {"execute_command(git push)", "x=push; git $x", true},
		"a program in a variable":   {"execute_command(git push)", `g='git push'; $g --tags`, true},
		"a variable with a default": {"execute_command(git push)", "git ${x:-push}", true},
		"at":                        {"execute_command(git push)", "at now <<< 'git push'", true},
		"a line for a wrapper":      {"execute_command(git push)", "npx -c 'git push'", true},
		"a package's program":       {"execute_command(git push)", "npm exec -- git push", true},
		"an archive":                {"execute_command(git push)", "tar cf x.tar --checkpoint=1 --checkpoint-action=exec='git push' y", true},
		"a copy":                    {"execute_command(git push)", "rsync -e 'git push' a b", true},
		"a function":                {"execute_command(git push)", `f() { "$@"; }; f git push`, true},
		"an alias of many":          {"execute_command(git push)", "alias a=b p='git push'", true},
		"busybox":                   {"execute_command(rm -rf)", "busybox rm -rf x", true},
		"a backslash":               {"execute_command(rm -rf)", `\rm -rf x`, true},
		"xargs":                     {"execute_command(git push)", "echo x | xargs -I{} git push {}", true},
		"find":                      {"execute_command(git push)", "find . -maxdepth 1 -execdir git push ';'", true},
		"a benchmark":               {"execute_command(git push)", "hyperfine -w 3 'git push'", true},
		"a trap":                    {"execute_command(git push)", "trap 'git push' EXIT", true},
		"an alias":                  {"execute_command(git push)", "alias p='git push'", true},
		"a single wrapped word":     {"execute_command(make)", "setpriv make", true},
		"a search":                  {"execute_command(git push)", "grep -rn 'git push' .", false},
		"words of a search":         {"execute_command(git push)", "rg git push", false},
		"words":                     {"execute_command(git push)", "echo git push", false},
		"files":                     {"execute_command(git push)", "mkdir git push", false},
		"a target":                  {"execute_command(git push)", "make git push", false},
		"a message":                 {"execute_command(git push)", "git commit -m 'git push'", false},
		"an issue":                  {"execute_command(git push)", "gh issue create --title git push", false},
		"a list":                    {"execute_command(git push)", "ls git push", false},
		"long names for letters":    {"execute_command(rm -rf)", "rm --recursive --force x", true},
		"and short for those":       {"execute_command(rm -rf)", "rm --recur -f x", true},
		"letters for long names":    {"execute_command(git push --force)", "git push -f", true},
		"a lease is no force":       {"execute_command(git push -f)", "git push --force-with-lease", false},
		"a capital":                 {"execute_command(rm -rf)", "rm -Rf x", true},
		"capitals apart":            {"execute_command(rm -rf)", "rm -R -f x", true},
		"a capital in the rule":     {"execute_command(rm -R)", "sudo rm -r x", true},
		"a capital of cp":           {"execute_command(cp -r)", "cp -R a b", true},
		"ls turns around":           {"execute_command(ls -R)", "ls -r", false},
		"and goes down":             {"execute_command(ls -r)", "ls -R", false},
		"chmod takes away":          {"execute_command(chmod -R)", "chmod -r x", false},
		"chown has one of them":     {"execute_command(chown -r)", "chown -R a b", false},
		"rsync has two":             {"execute_command(rsync -r)", "rsync -R a b", false},
		"a flag before exec":        {"execute_command(git push)", `npm --prefix x exec git push`, true},
		"a workspace before exec":   {"execute_command(git push)", `npm -w a exec -- git push`, true},
		"recursive exec":            {"execute_command(git push)", `pnpm -r exec git push`, true},
		"a program of one word":     {"execute_command(make)", `pnpm -r exec make`, true},
		"and behind --":             {"execute_command(make)", `npm -w a exec -- make`, true},
		"conda":                     {"execute_command(git push)", `conda run git push`, true},
		"conda with a name":         {"execute_command(git push)", `conda run -n x git push`, true},
		"gem":                       {"execute_command(git push)", `gem exec git push`, true},
		"composer":                  {"execute_command(git push)", `composer exec git push`, true},
		"brew":                      {"execute_command(git push)", `brew bundle exec -- git push`, true},
		"stack":                     {"execute_command(git push)", `stack exec git push`, true},
		"flags behind --":           {"execute_command(rm -rf)", `stack exec -- rm -rf x`, true},
		"flags apart behind --":     {"execute_command(git push --force)", `frobnicate -- git push -f`, true},
		"cabal":                     {"execute_command(git push)", `cabal exec -- git push`, true},
		"mix":                       {"execute_command(git push)", `mix cmd git push`, true},
		"yarn":                      {"execute_command(git push)", `yarn git push`, true},
		"yarn run":                  {"execute_command(git push)", `yarn run git push`, true},
		"cargo watch":               {"execute_command(git push)", `cargo watch -s 'git push'`, true},
		"runuser":                   {"execute_command(git push)", `runuser -u a -- git push`, true},
		"runuser, one word":         {"execute_command(make)", `runuser -u a make`, true},
		"sg":                        {"execute_command(git push)", `sg docker 'git push'`, true},
		"script of BSD":             {"execute_command(git push)", `script -q x git push`, true},
		"script of BSD, one word":   {"execute_command(make)", `script x make`, true},
		"an array":                  {"execute_command(git push)", `args=(push origin); git "${args[@]}"`, true},
		"an array without quotes":   {"execute_command(git push)", `args=(push origin); git ${args[*]}`, true},
		"a command in an array":     {"execute_command(git push)", `c=(git push); "${c[@]}"`, true},
		"a declared array":          {"execute_command(git push)", `declare -a c=(git -C . push); "${c[@]}"`, true},
		"an array that grows":       {"execute_command(git push)", `c=(git); c+=(push); "${c[@]}"`, true},
		"one of an array":           {"execute_command(git push)", `c=(git pull push); "${c[0]}" ${c[2]}`, true},
		"the first of an array":     {"execute_command(git push)", `c=(push x); git $c`, true},
		"another of an array":       {"execute_command(git push)", `c=(git pull push); ${c[0]} ${c[1]}`, false},
		"a value that grows":        {"execute_command(git push)", `x=pu; x+=sh; git $x`, true},
		"options that are set":      {"execute_command(git push)", `set -eo pipefail; git $@ push`, true},
		"a run text of a test":      {"execute_command(git push)", `go test -run 'git push' ./...`, false},
		"a text in an array":        {"execute_command(git push)", `a=(git push); echo "${a[@]}"`, false},
		"a wide rule":               {"execute_command(* --hard)", "npm install a b c d e f g h i j k", false},
		"any tool, a word":          {"*(*.pem)", "cat key.pem", true},
		"any tool, a value":         {"*(key.pem)", "cat --file=key.pem", true},
		"any tool, a redirect":      {"*(*.pem)", "wc < key.pem", true},
		"any tool, the line":        {"*(*secret*)", "echo a secret b", true},
		"any tool, something else":  {"*(*.pem)", "cat key.txt", false},
		"too many commands":         {"execute_command(git push)", strings.Repeat("true;", 4000) + "git push", true},
	} {
		for _, mode := range policy.Modes {
			p := newPolicy(t, policy.Options{Mode: mode, Deny: []string{test.rule}})
			d := p.Decide(run(t, test.line))
			if (d.Verdict == policy.Deny) != test.denied || test.denied && d.Rule != test.rule {
				t.Errorf("%s (%s): %s by %q", name, mode, d.Verdict, d.Rule)
			}
		}
	}
	p := newPolicy(t, policy.Options{Mode: policy.Yolo, Deny: []string{"write_file(*.pem)", "web_fetch(*.example.com)"}})
	for want, c := range map[policy.Verdict]policy.Call{
		policy.Deny:  {Tool: "write_file", Args: json.RawMessage(`{"a":[{"path":"x.pem"}]}`), Effect: tools.Writes},
		policy.Allow: {Tool: "write_file", Args: json.RawMessage(`{"path":"x.txt"}`), Effect: tools.Writes},
	} {
		if d := p.Decide(c); d.Verdict != want {
			t.Errorf("%s: %s, want %s", c.Args, d.Verdict, want)
		}
	}
	if d := p.Decide(policy.Call{Tool: "web_fetch", Args: json.RawMessage(`{"url":"x"}`), Host: "a.example.com", Effect: tools.Network}); d.Verdict != policy.Deny {
		t.Errorf("a forbidden host: %s", d.Verdict)
	}
	for _, bad := range []string{"", "execute_command(", "execute_command()", "execute_command( )", "rm -rf", "(x)"} {
		if _, err := policy.New(policy.Options{Deny: []string{bad}}); err == nil || !strings.Contains(err.Error(), "execute_command") && !strings.Contains(err.Error(), "TOOL") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestTooLong: what is not looked at is not allowed.
func TestTooLong(t *testing.T) {
	p := newPolicy(t, policy.Options{Mode: policy.Yolo})
	for line, want := range map[string]policy.Verdict{
		strings.Repeat("true;", 25_000) + "reboot":     policy.Deny,
		strings.Repeat("sudo -a ", 4000) + "true":      policy.Deny,
		strings.Repeat("env -S ", 4000):                policy.Deny,
		strings.Repeat("cd a;", 4000):                  policy.Deny,
		"x=12345678;" + strings.Repeat("x=$x$x;", 50):  policy.Deny,
		strings.Repeat("w ", 30_000) + "rm -rf y":      policy.Allow,
		"x " + strings.Repeat("rm -r ", 2000) + "true": policy.Deny,
	} {
		if d := p.Decide(run(t, line)); d.Verdict != want {
			t.Errorf("%.30q... of %d bytes: %s (%s)", line, len(line), d.Verdict, d.Why)
		}
	}
}

// TestOrdinaryLines: what begins like something forbidden, or holds its words,
// is not forbidden.
func TestOrdinaryLines(t *testing.T) {
	p := newPolicy(t, policy.Options{Mode: policy.Yolo, Deny: []string{"execute_command(git push)", "execute_command(rm -rf)", "execute_command(npm publish)", "*(*.pem)"}})
	for line := range strings.Lines(ordinaryLines) {
		if d := p.Decide(run(t, strings.TrimSuffix(line, "\n"))); d.Verdict != policy.Allow {
			t.Errorf("%q: %s", line, d.Why)
		}
	}
}

const ordinaryLines = `git -C sub status
git --no-pager log --oneline -5
git add -A && git commit -m "push the button"
git log --grep push
git stash push
git remote -v
npm --prefix sub run build
npm install
vagrant halt
./server.sh shutdown
python3 manage.py reboot
docker compose stop
docker run --rm -v .:/src alpine ls /src
kubectl -n prod get pods
systemctl status reboot.target
go test -run TestReboot ./...
cargo run -- shutdown
find . -name push
sed -n 1,5p halt.txt
rm -r build
rm x.pe
mkdir -p reboot
uv run pytest -x
poetry run python x.py
mise exec -- go test ./...
curl -s https://example.com/reboot
git rebase -i main
git -c color.ui=always log
git config user.name x
echo git push | tee notes.txt
make build test
tar czf x.tar.gz rm
bash build.sh push
cat <<'EOF'
npm run git
npm test -- push
npm install git
npm version patch -m push
npm view a publish
yarn add git
pnpm -r run build
conda install -c conda-forge git
conda create -n push git
brew install git
brew uninstall git-push
gem push a.gem
composer require a/git
cargo add git2
cargo test push
cargo run -- reboot
cargo build --release && rm -r target
mix deps.get
stack build git
dotnet add package git
gradle push
go run ./cmd/git push
go test -run Push ./git
terraform plan -out push
helm upgrade git push
set -euo pipefail
arr=(a b c); rm "${arr[@]}"
for f in a b; do rm -r "$f"; done
script -c 'make test' log
docker exec -it web npm install
`

// TestPathsOfRules: a file is forbidden by whatever name it is called.
func TestPathsOfRules(t *testing.T) {
	root := t.TempDir()
	for _, err := range []error{os.MkdirAll(filepath.Join(root, "secrets"), 0o700), os.WriteFile(filepath.Join(root, "key.pem"), nil, 0o600), os.WriteFile(filepath.Join(root, "secrets", "x"), nil, 0o600), os.Symlink("key.pem", filepath.Join(root, "k2")), os.Symlink("secrets", filepath.Join(root, "s2"))} {
		if err != nil {
			t.Skip(err)
		}
	}
	p := newPolicy(t, policy.Options{Mode: policy.Yolo, Deny: []string{"read_file(secrets/*)", "write_file(Makefile)", "*(*.pem)", "execute_command(cat secrets/*)"}})
	at := command.Place{Root: root, Env: []string{"HOME=/home/ada"}}
	for _, test := range []struct{ tool, text, want string }{
		{"read_file", "secrets/x", "deny"},
		{"read_file", "./secrets/x", "deny"},
		{"read_file", "a/../secrets/x", "deny"},
		{"read_file", root + "/secrets/x", "deny"},
		{"read_file", "s2/x", "deny"},
		{"read_file", "k2", "deny"},
		{"read_file", "secrets.txt", "allow"},
		{"write_file", "Makefile", "deny"},
		{"write_file", "./Makefile", "deny"},
		{"write_file", root + "/Makefile", "deny"},
		{"write_file", "sub/Makefile", "allow"},
		{"execute_command", "cat secrets/x", "deny"},
		{"execute_command", "cat ./secrets/x", "deny"},
		{"execute_command", "cat " + root + "/secrets//x", "deny"},
		{"execute_command", "cat s2/x", "deny"},
		{"execute_command", "head ./k2", "deny"},
		{"execute_command", "head < k2", "deny"},
		{"execute_command", "head < a.txt", "allow"},
		{"execute_command", "cd secrets && cat x", "deny"},
		{"execute_command", "(cd ./secrets; cat x)", "deny"},
		{"execute_command", "cd secrets/a && cat ../x", "deny"},
		{"execute_command", "cd secrets\ncd ..\ncat x", "deny"}, // it may not have worked
		{"execute_command", "pushd secrets; cat x", "deny"},
		{"execute_command", "cd -P -- secrets && cat x", "deny"},
		{"execute_command", "env -C secrets cat x", "deny"},
		{"execute_command", "sh -c 'cd secrets && cat x'", "deny"},
		{"execute_command", "cd src && cat x", "allow"},
	} {
		c := policy.Call{Tool: test.tool, Effect: tools.Runs, Place: at}
		c.Args, _ = json.Marshal(map[string]string{"path": test.text})
		if test.tool == policy.CommandTool {
			c.Line = test.text
		}
		if d := p.Decide(c); string(d.Verdict) != test.want {
			t.Errorf("%s %s: %s, want %s", test.tool, test.text, d.Verdict, test.want)
		}
	}
}

func TestModes(t *testing.T) {
	for name, test := range map[string]struct {
		call policy.Call
		want string // in the modes, the strictest first
	}{
		"reads":       {run(t, "ls"), "ask allow allow"},
		"tries":       {run(t, "python3 x.py"), "ask allow allow"},
		"runs":        {run(t, "touch x"), "ask ask allow"},
		"leaves":      {run(t, "cat /etc/passwd"), "ask allow allow"},
		"forbidden":   {run(t, "rm -rf /"), "deny deny deny"},
		"writes":      {policy.Call{Tool: "write_file", Effect: tools.Writes}, "ask ask allow"},
		"network":     {policy.Call{Tool: "web_fetch", Effect: tools.Network, Host: "x"}, "ask ask allow"},
		"remembers":   {policy.Call{Tool: "remember", Effect: tools.Remembers}, "ask allow allow"},
		"nothing":     {policy.Call{Tool: "add"}, "ask allow allow"},
		"read_file":   {policy.Call{Tool: "read_file", Effect: tools.Reads}, "ask allow allow"},
		"outside":     {policy.Call{Tool: "read_file", Effect: tools.Reads | tools.Leaves}, "ask ask allow"},
		"tainted":     {policy.Call{Tool: "read_file", Effect: tools.Reads, Tainted: true}, "ask allow allow"},
		"empty line":  {policy.Call{Tool: policy.CommandTool, Effect: tools.Runs}, "ask ask allow"},
		"broken line": {run(t, "ls 'x"), "ask allow allow"},
	} {
		var got []string
		for _, mode := range policy.Modes {
			d := newPolicy(t, policy.Options{Mode: mode, Unasked: policy.Sandbox}).Decide(test.call)
			got = append(got, string(d.Verdict))
			if d.Why == "" {
				t.Errorf("%s: no reason in %s", name, mode)
			}
			if mode == policy.ConfirmAll && d.Offer != nil {
				t.Errorf("%s: a rule is offered in %s", name, mode)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
	if _, err := policy.New(policy.Options{Mode: "never"}); err == nil {
		t.Error("a mode that there is not")
	}
	if m := policy.Yolo.Stricter(policy.ConfirmSensitive); m != policy.ConfirmSensitive {
		t.Errorf("the stricter one is %s", m)
	}
	if newPolicy(t, policy.Options{}).Mode() != policy.ConfirmSensitive {
		t.Error("the default is not confirm-sensitive")
	}
}

// TestUnasked: what runs unasked is held to reading, and what it is refused is
// asked about.
func TestUnasked(t *testing.T) {
	held := func(d policy.Decision) string {
		if d.Hold {
			return "held"
		}
		return string(d.Verdict)
	}
	for line, want := range map[string]string{ // with sandbox, readers, never
		"ls | head":                            "held held ask",
		"grep -rn 'x y' . | wc -l":             "held held ask",
		"for f in *.go; do wc -l $f; done":     "held ask ask",
		"python3 -c 'print(1)'":                "held ask ask",
		"cat /etc/passwd":                      "held ask ask",
		"cat .env":                             "held ask ask",
		"curl http://x":                        "held ask ask",
		"git log --oneline":                    "held ask ask",
		"rm x":                                 "ask ask ask",
		"for f in a b; do mv $f x; done":       "ask ask ask",
		"find . -name x -exec rm {} +":         "ask ask ask",
		"ls > x":                               "ask ask ask",
		"ls &> x":                              "ask ask ask",
		"ls 2>/dev/null":                       "held held ask",
		"git commit -m x":                      "ask ask ask",
		"npm install x":                        "ask ask ask",
		"sed -i s/a/b/ x":                      "ask ask ask",
		"go test ./...":                        "ask ask ask",
		"sudo ls":                              "ask ask ask",
		"mkfs /dev/sda":                        "deny deny deny",
		"sh -c 'rm x'":                         "ask ask ask",
		"echo x | xargs -n1 cp y":              "ask ask ask",
		"sort x > \"$TMPDIR/y\"; wc $TMPDIR/y": "held ask ask",
	} {
		var got []string
		for _, u := range []policy.Unasked{policy.Sandbox, policy.Readers, policy.Never} {
			got = append(got, held(newPolicy(t, policy.Options{Unasked: u}).Decide(run(t, line))))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", line, got, want)
		}
	}
	p := newPolicy(t, policy.Options{Unasked: policy.Sandbox, Deny: []string{"execute_command(secretly)"}})
	c := run(t, "shellcheck x.sh")
	c.Refused = []tools.Refusal{{Effect: tools.Writes, Kind: "write", What: "x"}}
	d := p.Decide(c)
	if d.Verdict != policy.Ask || d.Hold || d.Why == "" || !slices.Equal(d.Offer.Prefix, []string{"shellcheck"}) {
		t.Errorf("what was refused: %+v", d)
	}
	p.AllowCall(c)
	if d := p.Decide(c); d.Verdict != policy.Allow || d.Hold {
		t.Errorf("the very same call with the same permission: %+v", d)
	}
	c.Refused = []tools.Refusal{{Effect: tools.Network, Kind: "network"}}
	if d := p.Decide(c); d.Verdict != policy.Ask || d.Offer.Prefix != nil {
		t.Errorf("another permission: %+v", d)
	}
	p.AllowPrefix([]string{"shellcheck"})
	if d := p.Decide(c); d.Verdict != policy.Ask {
		t.Errorf("a prefix gives the network: %+v", d)
	}
	c.Refused, c.Tainted = nil, true
	if d := p.Decide(c); !d.Hold {
		t.Errorf("in a tainted run: %+v", d)
	}
	forbidden := run(t, "secretly x")
	forbidden.Refused = []tools.Refusal{{Effect: tools.Writes, Kind: "write"}}
	if d := p.Decide(forbidden); d.Verdict != policy.Deny {
		t.Errorf("a deny rule comes second: %+v", d)
	}
	for text, ok := range map[string]bool{"": true, "sandbox": true, "readers": true, "never": true, "always": false} {
		if _, err := policy.ParseUnasked(text); (err == nil) != ok {
			t.Errorf("unasked %q: %v", text, err)
		}
	}
	if u := policy.Sandbox.Stricter(policy.Readers); u != policy.Readers {
		t.Errorf("the stricter one is %s", u)
	}
}

// TestThisCommandIsNotEveryCommand: to allow one command for the session allows no
// other.
func TestThisCommandIsNotEveryCommand(t *testing.T) {
	p := newPolicy(t, policy.Options{})
	c := run(t, "touch x")
	p.AllowCall(c)
	again := c
	again.Args = json.RawMessage(` {"command" : "touch x"}`)
	if d := p.Decide(again); d.Verdict != policy.Allow {
		t.Errorf("the same call: %s", d.Verdict)
	}
	for _, line := range []string{"touch y", "touch x y", "touch x; rm y", "touch  x", "rm x"} {
		other := run(t, line)
		other.Place = c.Place
		if d := p.Decide(other); d.Verdict != policy.Ask {
			t.Errorf("%q: %s", line, d.Verdict)
		}
	}
	other := c
	other.Tool = "other"
	if d := p.Decide(other); d.Verdict != policy.Ask {
		t.Errorf("another tool: %s", d.Verdict)
	}
}

// TestPrefixes: a prefix covers a line only if it, or reading, is all that is in it.
func TestPrefixes(t *testing.T) {
	p := newPolicy(t, policy.Options{Allow: [][]string{{"go", "test"}, {"touch"}, {"npm", "run", "build"}, {"rm"}, {"sudo"}, {"git"}, {"sh"},
		{"make"}, {"gcc"}, {"eslint"}, {"jest"}, {"dotnet", "build"}, {"git", "log"}, {"sort"}, {"nix"}, {}, nil,
		{"go", "build"}, {"pytest"}, {"pylint"}, {"mypy"}, {"cargo", "test"}, {"cargo", "clippy"}, {"npm", "test"}, {"yarn", "test"}, {"mvn", "test"}, {"just", "build"},
		{"git", "add"}, {"git", "commit"}, {"golangci-lint", "run"}, {"prettier"}, {"ruff", "check"}, {"mkdir"},
		{"ninja"}, {"ninja", "test"}, {"zig", "build"}, {"zig", "build", "test"}, {"dotnet", "test"}}})
	for line, want := range map[string]policy.Verdict{
		"go test ./...":                          policy.Allow,
		"go test -run X ./a":                     policy.Allow,
		"ls && go test ./... | tail":             policy.Allow,
		"go test ./... 2>&1":                     policy.Allow,
		"touch x":                                policy.Allow,
		"go test ./...; touch x":                 policy.Allow,
		"npm run build":                          policy.Allow,
		"npm run buildx":                         policy.Ask,
		"npm run":                                policy.Ask,
		"go vet ./...":                           policy.Ask,
		"go testx":                               policy.Ask,
		"go":                                     policy.Ask,
		"gotest":                                 policy.Ask,
		"./go test":                              policy.Ask,
		"go test ./... & rm -rf x":               policy.Ask,
		"go test ./...; rm x":                    policy.Ask,
		"go test ./...\nrm x":                    policy.Ask,
		"go test && rm x":                        policy.Ask,
		"go test | sh":                           policy.Ask,
		"go test > x":                            policy.Ask,
		"go test < /etc/passwd":                  policy.Ask,
		"go test $(rm x)":                        policy.Ask,
		"go test `rm x`":                         policy.Ask,
		"go test \"$X\"":                         policy.Ask,
		"X=1 go test":                            policy.Ask,
		"go test -exec 'rm -rf x'":               policy.Ask,
		"go test -exec=./x":                      policy.Ask,
		"cd . && go test ./... | tail":           policy.Allow,
		"cd .. && go test ./...":                 policy.Ask,
		"cd . && rm x":                           policy.Ask,
		"go test --exec ./x":                     policy.Ask,
		"go test -vettool=./x":                   policy.Ask,
		"go test -overlay=x.json":                policy.Ask,
		"go test -vet=off ./...":                 policy.Allow,
		"go test -mod=vendor ./...":              policy.Allow,
		"go test -cover -count=1":                policy.Allow,
		"go test -o .git/hooks/x":                policy.Ask,
		"go test -o=.git/config":                 policy.Ask,
		"touch .git/hooks/pre-push":              policy.Ask,
		"touch .GIT/config":                      policy.Ask,
		"make -kj4 test":                         policy.Allow,
		"make -C sub -j4":                        policy.Ask,
		"make -Isub":                             policy.Ask,
		"make -kf x":                             policy.Ask,
		"make 'x;touch y'":                       policy.Ask, // a pattern's recipe has the shell read it
		"make ''":                                policy.Ask,
		"echo x | make test":                     policy.Ask,
		"cat a | sort | make test":               policy.Ask,
		"make test < a.txt":                      policy.Ask,
		"make test 0>&1":                         policy.Ask,
		"make test </dev/null":                   policy.Allow,
		"make test <<< x":                        policy.Ask,
		"make test <<EOF\nx\nEOF":                policy.Ask,
		"make test | head && echo":               policy.Allow,
		"make test && cat a | head":              policy.Allow,
		"echo x | make a && make b":              policy.Ask,
		"make a | make b":                        policy.Ask,
		"go test ./... -run X -race -count=1 -v": policy.Allow,
		"go test example.com/x@latest":           policy.Ask,
		"go test -C sub ./...":                   policy.Ask,
		"go test -modfile=x ./...":               policy.Ask,
		"go test ./... -args -x":                 policy.Ask,
		"go build -gcflags=-N":                   policy.Ask,
		"go build -race -tags x ./cmd/x":         policy.Allow,
		"pytest -k 'a and b' -xvs tests/a.py::b": policy.Allow,
		"pytest -p evil":                         policy.Ask,
		"pytest -xp evil":                        policy.Ask,
		"pytest --rootdir=x":                     policy.Ask,
		"pytest -c x.ini":                        policy.Ask,
		"pytest -o addopts=x":                    policy.Ask,
		"pytest @x":                              policy.Ask,
		"pylint --disable=C,R src":               policy.Allow,
		"pylint --init-hook=x src":               policy.Ask,
		"pylint --load-plugins=x src":            policy.Ask,
		"pylint --output-format=x.Y src":         policy.Ask,
		"mypy --strict src":                      policy.Allow,
		"mypy --python-executable x src":         policy.Ask,
		"mypy @x":                                policy.Ask,
		"cargo test --release name":              policy.Allow,
		"cargo test name -- --nocapture":         policy.Allow,
		"cargo test -- --logfile x":              policy.Ask,
		"cargo test --nocapture":                 policy.Ask,
		"cargo test --config x":                  policy.Ask,
		"cargo test --target-dir x":              policy.Ask,
		"cargo test --manifest-path x":           policy.Ask,
		"cargo clippy -- -D warnings":            policy.Allow,
		"cargo clippy -- -C linker=x":            policy.Ask,
		"cargo clippy -D warnings":               policy.Ask,
		"npm test":                               policy.Allow,
		"npm test --silent":                      policy.Allow,
		"npm test a.test.js":                     policy.Allow,
		"npm test '$(touch x)'":                  policy.Ask, // some have the shell read it
		"npm test --prefix sub":                  policy.Ask,
		"npm test --script-shell x":              policy.Ask,
		"npm test --script-sh=x":                 policy.Ask,
		"npm test -- --config x":                 policy.Ask,
		"yarn test --config x":                   policy.Ask,
		"yarn test a":                            policy.Allow,
		"mvn test -q -Dtest=A":                   policy.Allow,
		"mvn test deploy":                        policy.Ask,
		"mvn test -Dmaven.ext.class.path=x":      policy.Ask,
		"just build":                             policy.Allow,
		"just build deploy":                      policy.Ask,
		"git add -A":                             policy.Allow,
		"git add -- a.txt":                       policy.Allow,
		"git add -- -f":                          policy.Ask,
		"git add -f .env":                        policy.Ask,
		"git commit -am '@b: c'":                 policy.Allow,
		"git commit -qm 'a\nb'":                  policy.Allow,
		"git commit -S -m x":                     policy.Ask,
		"git commit -nm x":                       policy.Ask,
		"git commit -m x --no-verify":            policy.Ask,
		"git commit --trailer x -m y":            policy.Ask,
		"golangci-lint run ./...":                policy.Allow,
		"golangci-lint run -c x":                 policy.Ask,
		"prettier --check .":                     policy.Allow,
		"prettier --plugin ./x.js .":             policy.Ask,
		"ruff check --fix .":                     policy.Allow,
		"ruff check --config x":                  policy.Ask,
		"eslint --fix --max-warnings 0 src":      policy.Allow,
		"eslint -f ./x.js src":                   policy.Ask,
		"eslint --rulesdir x src":                policy.Ask,
		"jest -t name --runInBand":               policy.Allow,
		"jest --globalSetup=./x.js":              policy.Ask,
		"dotnet build -p:CustomBeforeMicrosoftCommonTargets=x": policy.Ask,
		"mkdir -p a/b":                 policy.Allow,
		"ninja -v -j4":                 policy.Allow,
		"ninja test -j4":               policy.Allow,
		"ninja deploy":                 policy.Ask,
		"ninja -v deploy":              policy.Ask,
		"ninja test deploy":            policy.Ask,
		"zig build -Doptimize=Debug":   policy.Allow,
		"zig build test --verbose":     policy.Allow,
		"zig build run":                policy.Ask,
		"zig build --verbose deploy":   policy.Ask,
		"zig build test deploy":        policy.Ask,
		"dotnet test a.csproj":         policy.Allow,
		"dotnet test -- X.Y=d":         policy.Ask,
		"dotnet test a -- b=c":         policy.Ask,
		"npm test --if-present":        policy.Allow,
		"npm test --if-unversioned":    policy.Ask,
		"make -E 'x'":                  policy.Ask,
		"make --eval=x":                policy.Ask,
		"make SHELL=./x":               policy.Ask,
		"make SHELL:=sh 'X!=touch p'":  policy.Ask,
		"make 'X+=$(shell touch p)'":   policy.Ask,
		"make -f -":                    policy.Ask,
		"make --makefile=x":            policy.Ask,
		"go test -coverprofile=README": policy.Ask,
		"go test -cpuprofile x":        policy.Ask,
		"gcc -c x.c":                   policy.Ask, // it writes any text to any file: -E -P -o Makefile
		"eslint -c x.js":               policy.Ask,
		"eslint src":                   policy.Allow,
		"jest -c x.js":                 policy.Ask,
		"dotnet build -c Release":      policy.Allow,
		"git log --output=x":           policy.Ask,
		"sort -o x y":                  policy.Ask,
		"nix make":                     policy.Ask,
		"go test -toolexec ./x":        policy.Ask,
		"go test /tmp/x":               policy.Ask,
		"go test ../x":                 policy.Ask,
		"go test -coverprofile=/x":     policy.Ask,
		"go test -coverprofile ../x":   policy.Ask,
		"touch ~/x":                    policy.Ask,
		"(go test)":                    policy.Ask,
		"if true; then go test; fi":    policy.Ask,
		"f() { go test; }; f":          policy.Ask,
		"rm x":                         policy.Ask, // however it came into the file
		"sudo go test":                 policy.Ask,
		"env go test":                  policy.Ask,
		"git push":                     policy.Ask,
		"sh x.sh":                      policy.Ask,
		"xargs go test":                policy.Ask,
		"\"go\" test":                  policy.Ask,
		"go test && cat /etc/passwd":   policy.Ask,
		"rm -rf / && go test":          policy.Deny,
	} {
		if d := p.Decide(run(t, line)); d.Verdict != want {
			t.Errorf("%q: %s (%s), want %s", line, d.Verdict, d.Why, want)
		}
	}
}

// TestPrefixInDirectories: a prefix holds in all directories of the project, and in no other.
func TestPrefixInDirectories(t *testing.T) {
	p := newPolicy(t, policy.Options{Allow: [][]string{{"make"}}})
	for name, test := range map[string]struct {
		line, dir string
		want      policy.Verdict
	}{
		"gone to":         {"cd sub && make", "", policy.Allow},
		"asked for":       {"make", "sub", policy.Allow},
		"a flag of make":  {"make -C sub", "", policy.Ask},
		"outside":         {"cd .. && make", "", policy.Ask},
		"outside, by dir": {"make", "..", policy.Ask},
	} {
		c := run(t, test.line)
		if err := os.Mkdir(filepath.Join(c.Place.Root, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		c.Place.Dir = filepath.Join(c.Place.Root, test.dir)
		if d := p.Decide(c); d.Verdict != test.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Why, test.want)
		}
	}
}

// noPrefix start or run whatever their arguments name.
const noPrefix = `mise pyenv rbenv rustup asdf nix
	nix-shell valgrind perf hyperfine setpriv rlwrap guile ocaml expect ipython xonsh pdm dotenv cross-env 
	aws gcloud pipenv rye pixi foreman dart dc m4 racket raku swipl luajit 
	gnuplot tcc duckdb emacsclient truncate redis-cli tox nox cmake gdb unknown
	gcc g++ cc c++ clang clang++ rustc swiftc javac protoc esbuild`

// TestReasons: the question says why a rule does not cover what it seems to.
func TestReasons(t *testing.T) {
	p := newPolicy(t, policy.Options{Allow: [][]string{{"go", "test"}, {"rm"}}})
	for line, want := range map[string]string{
		"go test -exec ./x": "-exec",
		"go test ../x":      "out of the workspace",
		"go test A=1":       "A=1",
		"rm x":              "rm does not count",
		"go vet":            "changes or builds",
		"frobnicate":        "no command runs unasked",
	} {
		if d := p.Decide(run(t, line)); d.Verdict != policy.Ask || !strings.Contains(d.Why, want) {
			t.Errorf("%q: %s (%s)", line, d.Verdict, d.Why)
		}
	}
}

// TestTypicalLines: what people type is covered by the prefix that they are offered for it.
func TestTypicalLines(t *testing.T) {
	for line := range strings.Lines(typical) {
		line = strings.TrimSuffix(line, "\n")
		p := newPolicy(t, policy.Options{})
		d := p.Decide(run(t, line))
		if d.Offer == nil || d.Offer.Prefix == nil {
			t.Errorf("%q: nothing is offered (%s)", line, d.Why)
			continue
		}
		p.AllowPrefix(d.Offer.Prefix)
		if d := p.Decide(run(t, line)); d.Verdict != policy.Allow {
			t.Errorf("%q: %s (%s)", line, d.Verdict, d.Why)
		}
	}
}

const typical = `make -j8 all install
gmake
ninja -v -j4
mkdir -p a/b c
touch -- a b
gofmt -l -w .
goimports -w -local example.com .
staticcheck -checks all ./...
golangci-lint run --timeout 5m --fast ./...
pytest -q --maxfail=1 --tb=short tests
black --check --line-length 100 .
ruff check --select E,F --output-format concise .
ruff format --check
flake8 --max-line-length=100 src
pylint -E src
mypy --ignore-missing-imports --warn-unused-ignores .
pyright --outputjson src
isort --check-only .
tsc --noEmit
eslint . --ext .ts,.tsx
prettier --write 'src/**/*.ts'
stylelint --fix a.css
biome check --write src
biome format src
biome lint src
jest --coverage a.test.js
vitest run -t name
phpunit --filter testX tests
rspec -fd spec/a_spec.rb:12
rubocop -a lib
shellcheck -x a.sh
shfmt -d -i 2 .
rustfmt --check --edition 2021 src/main.rs
clang-format -i a.c
git add -A .
git commit --amend --no-edit
git mv a b
go build -v ./...
go vet ./...
go test -bench . -benchmem -run '^$' ./a
go list -m -json all
go doc -all fmt
go fmt ./...
go mod tidy -v
cargo bench
cargo build --release -p x
cargo check --all-targets
cargo doc --no-deps
cargo clippy --all-targets -- -D warnings
cargo fmt --all -- --check
cargo test --workspace name -- --test-threads=1
npm test
yarn test
pnpm test
npm run build
yarn run build
pnpm run build
just build
task build
rake build
mvn compile -q
mvn package -DskipTests
mvn test -Dtest=A#b
mvn verify -B
gradle build --no-daemon
gradle check
gradle test --tests=A
dotnet build -c Release --no-restore
dotnet test --filter x
mix compile --warnings-as-errors
mix format --check-formatted
mix test --trace test/a_test.exs:3
swift build -c release
swift test --filter A
zig build -Doptimize=ReleaseFast
zig build test -j4
stack build --fast
stack test
cabal test
bazel build -c opt target
bazel test --test_output=errors target
terraform fmt -recursive
terraform validate -json
helm lint --strict chart
`

func TestOfferedPrefix(t *testing.T) {
	p := newPolicy(t, policy.Options{})
	for program := range strings.FieldsSeq(noPrefix) {
		for _, line := range []string{program + " make", program + " exec make", program + " x"} {
			if d := p.Decide(run(t, line)); d.Offer == nil || d.Offer.Prefix != nil {
				t.Errorf("%q: %s, offered %v", line, d.Verdict, d.Offer)
			}
		}
	}
	for line, want := range map[string]string{
		"go test ./...":              "go test",
		"ls && go test ./... | head": "go test",
		"go test a; go test b":       "go test",
		"touch x":                    "touch",
		"make all":                   "make",
		"npm run build":              "npm run build",
		"npm run build -- --x":       "",
		"echo x | make":              "",
		"make -f x":                  "",
		"ruff clean":                 "",
		"ruff check .":               "ruff check",
		"golangci-lint custom":       "",
		"git commit -m x":            "git commit",
		"go mod tidy":                "go mod tidy",
		"just build":                 "just build",
		"just":                       "",
		"go mod edit":                "",
		"git branch -D x":            "",
		"git stash drop":             "",
		"git difftool -x y":          "",
		"npm publish":                "",
		"cargo publish":              "",
		"terraform destroy":          "",
		"gh repo delete x":           "",
		"yarn node x":                "",
		"cargo build":                "cargo build",
		"go test; touch x":           "",
		"go test > x":                "",
		"go test &":                  "",
		"go test /etc":               "",
		"go test -exec ./x":          "",
		"rm x":                       "",
		"sh x":                       "",
		"python3 x.py":               "",
		"python3.12 x.py":            "",
		"sudo make":                  "",
		"env make":                   "",
		"xargs touch":                "",
		"find . -delete":             "",
		"git -c x=y log":             "",
		"git push":                   "",
		"go run .":                   "",
		"npx x":                      "",
		"curl http://x":              "",
		"./x":                        "",
		"awk -f x y":                 "",
		"sed -i s/a/b/ x":            "",
		"tee x":                      "",
		"npm run":                    "",
		"npm install x":              "",
		"cp a b":                     "",
		"man ls":                     "",
		"mylm ask --yes x":           "",
		"make X=1":                   "",
		"git":                        "",
		"eval x":                     "",
		"docker run x":               "",
		"cat /etc/passwd":            "",
		"nohup make":                 "",
		"timeout 5 make":             "",
	} {
		d := p.Decide(run(t, line))
		got := ""
		if d.Offer != nil {
			got = strings.Join(d.Offer.Prefix, " ")
		}
		if d.Verdict != policy.Ask || line != "cat /etc/passwd" && got != want {
			t.Errorf("%q: %s, offered %q, want %q", line, d.Verdict, got, want)
		}
		if got != "" {
			q := newPolicy(t, policy.Options{})
			q.AllowPrefix(d.Offer.Prefix)
			if d := q.Decide(run(t, line)); d.Verdict != policy.Allow {
				t.Errorf("%q: its own prefix does not cover it", line)
			}
		}
	}
}

func TestHosts(t *testing.T) {
	p := newPolicy(t, policy.Options{})
	fetch := func(host string, e tools.Effect) policy.Call {
		return policy.Call{Tool: "web_fetch", Args: json.RawMessage(`{}`), Effect: e, Host: host}
	}
	if d := p.Decide(fetch("a.example", tools.Network)); d.Verdict != policy.Ask || d.Offer.Host != "a.example" || !strings.Contains(d.Why, "a.example") {
		t.Errorf("%+v", d)
	}
	p.AllowHost(policy.Call{Host: "a.example"})
	for want, c := range map[policy.Verdict]policy.Call{
		policy.Allow: fetch("a.example", tools.Network|tools.Reads),
		policy.Ask:   fetch("b.example", tools.Network),
	} {
		if d := p.Decide(c); d.Verdict != want {
			t.Errorf("%s: %s", c.Host, d.Verdict)
		}
	}
	if d := p.Decide(fetch("a.example", tools.Network|tools.Writes)); d.Verdict != policy.Ask {
		t.Errorf("a call that writes too: %s", d.Verdict)
	}
}

// TestTaintedRunsAskAgain: rules do not count once strangers' words were read,
// until a person allows something.
func TestTaintedRunsAskAgain(t *testing.T) {
	for _, tool := range []string{"line", "host", "call"} {
		p := newPolicy(t, policy.Options{Allow: [][]string{{"touch"}}})
		c := run(t, "touch x")
		switch tool {
		case "host":
			c = policy.Call{Tool: "web_fetch", Host: "a.example", Effect: tools.Network}
			p.AllowHost(c)
		case "call":
			c = policy.Call{Tool: "write_file", Effect: tools.Writes}
			p.AllowCall(c)
		}
		if d := p.Decide(c); d.Verdict != policy.Allow {
			t.Errorf("%s, before: %s", tool, d.Verdict)
		}
		p.Allowed(c)
		c.Tainted = true
		if d := p.Decide(c); d.Verdict != policy.Ask || !strings.Contains(d.Why, "foreign text") || len(d.Offer.Prefix) > 0 {
			t.Errorf("%s, tainted: %+v", tool, d)
		}
		reading := c
		reading.Effect = tools.Reads
		p.Allowed(reading) // allows nothing that counts
		if d := p.Decide(c); d.Verdict != policy.Ask {
			t.Errorf("%s, after reading: %s", tool, d.Verdict)
		}
		p.Allowed(c)
		if d := p.Decide(c); d.Verdict != policy.Allow {
			t.Errorf("%s, after a yes: %s", tool, d.Verdict)
		}
	}
	// What was allowed nevertheless holds in the next run, and nothing else does.
	before, p := newPolicy(t, policy.Options{}), newPolicy(t, policy.Options{Allow: [][]string{{"touch"}}})
	call, host := run(t, "make all"), policy.Call{Tool: "web_fetch", Host: "a.example", Effect: tools.Network, Tainted: true}
	call.Tainted = true
	before.AllowCall(call)
	before.AllowHost(host)
	p.Adopt(before)
	other := run(t, "touch x")
	other.Tainted = true
	for _, c := range []policy.Call{call, host} {
		if d := p.Decide(c); d.Verdict != policy.Allow {
			t.Errorf("%s in the next run: %+v", c.Tool, d)
		}
	}
	if d := p.Decide(other); d.Verdict != policy.Ask || !strings.HasPrefix(d.Why, "you allowed touch in this project, but ") {
		t.Errorf("another line in the next run: %+v", d)
	}
	other = run(t, "make install")
	other.Tainted, other.Foreign = true, "web_fetch a.example"
	if d := p.Decide(other); d.Verdict != policy.Ask || !strings.HasPrefix(d.Why, "make changes or builds something; ") || !strings.Contains(d.Why, "(web_fetch a.example)") {
		t.Errorf("a line without a rule: %+v", d)
	}
	p = newPolicy(t, policy.Options{Mode: policy.Yolo})
	if d := p.Decide(policy.Call{Effect: tools.Runs, Tainted: true}); d.Verdict != policy.Allow {
		t.Errorf("yolo: %s", d.Verdict)
	}
}

func TestStore(t *testing.T) {
	ctx := context.Background()
	s := policy.Store{Path: filepath.Join(t.TempDir(), "data", "policy.json")}
	if all, err := s.List(); err != nil || len(all) > 0 {
		t.Errorf("without a file: %v, %v", all, err)
	}
	var wg sync.WaitGroup
	for _, word := range strings.Fields("a b c d e f g h") {
		wg.Go(func() {
			for range 2 {
				if err := s.Add(ctx, "/p", []string{"make", word}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Add(ctx, "/other", []string{"make", "a"}); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Project("/p"); err != nil || len(p) != 8 {
		t.Errorf("%v, %v", p, err)
	}
	gone, err := s.Revoke(ctx, func(r policy.Stored) bool { return r.Project == "/p" && r.Prefix[1] == "a" })
	if err != nil || len(gone) != 1 || gone[0].Added.IsZero() {
		t.Errorf("%v, %v", gone, err)
	}
	if all, _ := s.List(); len(all) != 8 || slices.ContainsFunc(all, func(r policy.Stored) bool { return r.Project == "/p" && r.Prefix[1] == "a" }) {
		t.Errorf("%v", all)
	}
	if info, err := os.Stat(s.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for text, want := range map[string]string{"{": "delete it", `{"version":2}`: "version 2"} {
		if err := os.WriteFile(s.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Add(ctx, "/p", []string{"x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if b, _ := os.ReadFile(s.Path); string(b) != text {
			t.Errorf("%s became %s", text, b)
		}
	}
}

func FuzzDeny(f *testing.F) {
	f.Add("execute_command(rm -rf *)", "rm -rf x")
	f.Add(`execute_command(a\*|b* -x|--y * \)`, "a* -x")
	f.Fuzz(func(t *testing.T, rule, line string) {
		p, err := policy.New(policy.Options{Deny: []string{rule}})
		if err != nil {
			return
		}
		p.Decide(policy.Call{Tool: policy.CommandTool, Effect: tools.Runs, Line: line})
	})
}
