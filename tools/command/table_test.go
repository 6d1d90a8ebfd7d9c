//go:build unix

package command_test

// One command on a line; %\n stands for a line end inside it, and so for %\t and others.

const reads = `
ls
ls -la
ls -la src
ls *.txt
ls src/*.go
ls ./*.txt
ls && pwd
ls; pwd
ls;pwd
ls | wc -l
ls || true
! ls nothing
ls # what is here
ls%\npwd
ls 2>/dev/null
ls >/dev/null 2>&1
ls nothing 2>&1 | head -1
cat a.txt | head -3
cat a.txt b.txt
cat -n a.txt
cat inner
cat 'a.txt'
cat "a.txt"
cat a\.txt
cat < a.txt
cat none
cat größe.txt
cat отчет.txt
cat -- a.txt
head -5 a.txt
head -n 20 a.txt
head -c100 a.txt
head a.txt
tail -n +5 a.txt
tail -20 a.txt
tac a.txt
wc -l *.txt
wc -l src/*.go a.txt
wc
stat a.txt
stat -c '%s' a.txt
du -sh .
du -sh *.txt
file a.txt
tree -L 2
tree -aL 2
tree -I node_modules
xxd -l 16 a.txt
xxd -l16 -u a.txt
tail -c5 a.txt
grep -nA3 foo a.txt
grep -rn foo .
grep -rn "foo bar" src
grep -rn '$(rm x)' src
grep -n /etc/passwd a.txt
grep -e '../x' a.txt
grep --include=*.go -rn foo .
grep -i -A 3 -B2 foo a.txt
grep -E '^(a|b)>c' a.txt
grep -c '' a.txt
grep 'rm -rf /' a.txt
grep "a;b" a.txt
egrep 'a|b' a.txt
rg foo
rg -n foo src
rg -g '*.go' 'func \w+' .
rg --files
rg -e foo -e bar
find . -name '*.go'
find . -type f -name "*.txt" -maxdepth 2
find src -size +10k -print
find . \( -name a -o -name b \) -print0
find . ! -name a
diff a.txt b.txt
diff -u a.txt b.txt
cmp a.txt b.txt
sort a.txt
sort -nr a.txt | uniq -c | head
sort -k2,2n -t, a.txt
uniq a.txt
cut -d, -f1 a.txt
cut -d: -f 1,2 a.txt
tr -d '\n' < a.txt
tr a-z A-Z
jq . data.json
jq -r '.a[] | select(.b > 1)' data.json
sed -n '1,20p' a.txt
sed -n 5p a.txt
sed 3d a.txt
nl a.txt
od -c a.txt
xxd a.txt
sha256sum a.txt
pwd
echo hi
echo "it's > here"
echo '; rm -rf x'
echo a \> b
echo /etc/passwd
echo -n x
echo 100%
echo hi!
printf 'a %s %d\n' x 3
printf '%q\n' x
true
false || echo no
test -f a.txt && echo yes
[ -d src ] && ls src
[ a = b ] || echo different
basename /etc/passwd
dirname src/x.go
date
date +%Y-%m-%d
date -u
uname -a
whoami
id -u
seq 1 10
which go
git status
git status --short
git status -sb
git log --oneline -5
git log -p -- a.txt
git log main..feature
git diff
git diff HEAD~1 -- src
git diff --stat
git diff -U5
git diff -M90%
git diff -C -M
git status -uno
git blame -M -L 1,2 a.txt
head -n -5 a.txt
tail -n +2 a.txt
ls [a-z]*.txt
ls src/[xy].go
grep foo a.txt -n
git diff -U
git log -n 5
git log -n5
git log -5
git show HEAD
git show HEAD:a.txt
git branch
git branch -a
git branch --show-current
git remote -v
git rev-parse --abbrev-ref HEAD
git ls-files
git blame a.txt
git grep -n foo
git --version
git status && ls
cd src && ls
cd src && cat x.go | head -3
cd src && grep -n x x.go && ls; pwd
cd ./src && ls *.go
cd "src" && git status
git --no-pager log
git -C src status
git -C . log --oneline -5
git -C src --no-pager diff
git remote get-url origin
git stash list
command -v go
command -v go git
df -h
df -h .
sed -n "1,5p;10p" a.txt
sed -n '1p;$p' a.txt
python3 --version
git status -uall
date -Iseconds
awk '{print}' a.txt
awk '{print $1}' a.txt
awk '{print $1$2}' a.txt
awk -F: '{print $1 "\t" $NF}' a.txt
awk -F , '{ printf "%s %d\n", $1, $2 }' a.txt
awk 'NR>1 {print $2}' a.txt
awk 'NR==1 || NR==5' a.txt
awk '/foo/ {print $1}' a.txt
awk '{s += $1} END {print s}' a.txt
awk '{s=$1} END {print s, $(NF-1)}' a.txt
awk 'BEGIN{FS=","; OFS="\t"} {print $1, $NF; n=NR}' a.txt
awk '{printf("%-20s %5.1f\n", $1, $2 * 2)}' a.txt
cut -c 1-80 a.txt
fold -sw 80 a.txt
nl -w 3 a.txt
grep -E 'a{2,5}b{3}' a.txt
grep -m 100000 a a.txt
head -c 1000000 a.txt
git log --since=20240101
git log '--format=%<(20)%an %s'
date +%Y%m%d
seq 10 -2 1
jq '.[100000]' data.json
jq -r '.a|gsub("\\s+";"_")' data.json
jq -r '.a|gsub("a";"b";"i")' data.json
jq -r '.a|sub("^a*";"")' data.json
jq -r '.a|sub( "\\.git$" ; "" )|.subject' data.json
jq -r '.a|sub("a";"b";"g")' data.json
grep -E '(a+)+(b*)*(c+)+' a.txt
grep -n '[*][*][*][*][*][*][*]' a.txt
find . -path '*/a/*' -not -path '*/b/*'
printf '%-20s|%5.2f\n' a 1
tr 'a-z' '[b*26]' < a.txt
ls -la src | awk '{print $5, $9}'
`

const leaves = `
cat /etc/passwd
cat ../outside/secret
cat src/../../outside/secret
cat ~/.ssh/id_rsa
cat ~root/.bashrc
cat link
ls [kl]ink
cat [!x]*
sort a.txt -k /etc/passwd
grep foo a.txt -e ../x
cat linkdir/secret
cat dangling
cat a.txt link
cat < /etc/passwd
cat < ~/x
cat < link
head -3 link
ls /
ls ..
ls ~
ls linkdir
ls linkdir/*
ls ../*
ls /etc/*
ls -la /root
cat *
wc -l l*
cat /proc/self/environ
cat /dev/sda
cat /dev/stdin
head -c 10 /dev/zero
head /dev/tcp/example.com/80
grep -rn foo /etc
grep -e foo /etc/passwd
grep foo ../x
grep root /etc/passwd | head
rg foo /
rg --files /etc
rg -e foo /etc
find / -name x
find .. -type f
find ~ -name x
find . -newer /etc/passwd
diff a.txt /etc/passwd
sort ../x
wc -l < ../x
jq . /etc/x.json
du -sh /
stat /root/.ssh
test -f /root/.ssh/id_rsa
sed -n 1p /etc/passwd
git diff --stat -- ../x
git show HEAD:../x
git diff /etc/passwd a.txt
echo ~
echo a=~
ls && cat /etc/passwd
file /etc/shadow
sha256sum ../outside/secret
realpath ../x
cd src && cat ../../outside/secret
cd src && ls /etc
git -C src diff ../../x
git -C .. status
awk '{print}' /etc/passwd
git -C linkdir status
`

const asks = `
awk '{print $1+0.5}' OFMT=%999999999f a.txt
awk '{print}' FS=x a.txt
awk '$1 ~ "((a{999}){999}){99}"' a.txt
awk -F'((a{99}){99}){99}' '{print}' a.txt
nl -b p'\(a\{999\}\)\{999\}' a.txt
jq 'test("(a{999}){999}")' data.json
jq -n '1|strftime("%999999999d")'
jq 'gsub("";"x")' data.json
jq 'gsub("a*";"x")' data.json
jq 'gsub("\\b";"x")' data.json
jq 'gsub(.a;"x")' data.json
jq 'gsub("()";"x")' data.json
jq 'gsub(" ";"x";"x")' data.json
jq 'gsub("a";"x";.b)' data.json
jq 'sub("";"x";"g")' data.json
jq 'sub("a*";"x";"gi")' data.json
jq 'sub("\\b";"x";"g")' data.json
jq 'sub ("a*";"x";.b)' data.json
jq 'sub(.a;"x";"g")' data.json
jq 'sub("a*"#"%\n;"x";"g")' data.json
git log '--format=%w(80)%s'
git log '--format=%+w(0,99999,99999)%B'
git log '--pretty=tformat:%w(99999,99999,99999)%b'
grep -E '((((((a+)+)+)+)+)+)+' a.txt
grep -E 'a+*+*+*+*+*+*' a.txt
grep '\(\(\(\(\(\(a*\)*\)*\)\+\)*\)*\)*' a.txt
git grep -E '((((((a*)*)*)*)*)*)*'
git log --grep='((((((a*)*)*)*)*)*)*'
find . -regex '\(\(\(\(\(\(a*\)*\)*\)*\)*\)*\)*'
nl -b 'p\(\(\(\(\(\(a*\)*\)*\)*\)*\)*\)*' a.txt
awk '/((((((a+)+)+)+)+)+)+/ {print}' a.txt
jq 'test("((((((a+)+)+)+)+)+)+")' data.json
printf '%2000000000d' 1
printf '%1000s%99999d' a 1
printf '%.2000000000d' 1
printf '%*d' 2000000000 1
nl -w 999999999 a.txt
nl -w999999999 a.txt
expand -t 999999999 a.txt
expand -t1,99999999 a.txt
fold -w 999999999 a.txt
fold -sw999999999 a.txt
seq -f %99999999f 1
seq 1 0 5
seq 5 -0 1
seq -99999999999 1
seq -s -f 1 5
cut -c 1-999999999 a.txt
cut --bytes=999999999- a.txt
xxd -c 99999999 a.txt
xxd -g99999999 a.txt
stat -c %2000000000n a.txt
stat --printf=%2000000000n a.txt
find . -printf %2000000000p
date +%2000000000d
tr a '[b*2000000000]'
git log '--format=%<(2000000000)%s'
git log '--format=%w(0,999999999)%s'
git log --date=format:%2000000000d
git blame --date=format:%2000000000d a.txt
fmt -w 999999999 a.txt
pr -l 999999999 a.txt
column -c 999999999 a.txt
seq 1e18
head -c 99999999999 /dev/zero | cat a.txt; yes
grep -E '((a{999}){999}){9}' a.txt
grep -E 'a{1,32767}' a.txt
grep '\(a\{999\}\)\{999\}' a.txt
rg '(a{999}){999}' a.txt
git grep -E '((a{999}){999}){9}'
git log --grep='((a{999}){999}){9}'
git log -G '((a{999}){999}){9}'
find . -regex '.*\(a\{999\}\)\{999\}'
awk '{s = s s}' a.txt
awk '{OFS=OFS OFS}' a.txt
awk 'BEGIN{s="x"} {s=s s s} END{print s}' a.txt
awk '{printf "%2000000000d", 1}' a.txt
awk '{printf "%*d", 2000000000, 1}' a.txt
awk '{printf "%" 2000000000 "d", 1}' a.txt
awk '{printf $1, 1}' a.txt
awk '{x = sprintf(s, 1)}' a.txt
awk '{print $100000000}' a.txt
awk '{print $(NR*99999)}' a.txt
awk '{print $s}' a.txt
jq '"x"*1000000000' data.json
jq -n '.[1000000000]=1'
jq -n '.[1e9]=1'
jq -n '.[pow(10;9)]=1'
jq -n 'def f: f; f'
jq -n '[range(1e12)]|length'
awk 'BEGIN{$1000000000=1}' a.txt
awk 'BEGIN{NF=100000000}' a.txt
command rm -v b.txt
command touch x -v
command
tail +2f a.txt
tail +f a.txt
seq inf
seq 1 1e12
seq 1 10000000
git log --format='%+GG'
git log --format='%-G?'
git log --pretty='tformat:% G?'
rm a.txt
rm -rf x
touch x
mkdir x
mv a b
cp a b
ln -s a b
chmod 600 a.txt
tee x
ls | tee x
dd if=a.txt of=b
curl https://example.com
wget https://example.com
nc -l 1
python -c 'print(1)'
python3 x.py
node x.js
perl -e 'print 1'
ruby x.rb
awk '{print > "x"}' a.txt
awk '{print >> "x"}' a.txt
awk '{print | "sh"}' a.txt
awk '{print |& "sh"}' a.txt
awk '"id" | getline' a.txt
awk '{getline < "x"; print}' a.txt
awk '/"/ {system("x")} #"' a.txt
awk '{print 1/system(x)/2}' x=id a.txt
awk '/a/ {print 1} /b/ {system("x")}' a.txt
awk '{print ENVIRON["X"]}' a.txt
awk 'BEGIN{ARGV[1]="/etc/passwd"} {print}' a.txt
awk '@load "x"; {print}' a.txt
awk 'BEGIN{while(1);}'
awk '} {system(1) {' a.txt
awk '{print "\\" ; system(x) ; "y"}' a.txt
awk -f a.txt
awk -v x=1 '{print x}' a.txt
awk '{print}' -f a.txt
awk -i inplace '{print}' a.txt
awk {print} a.txt
awk
awk 'BEGIN{system("id")}'
make
go test ./...
go run .
go build
go env
npm test
sh -c 'ls'
bash -c ls
sh x.sh
source x
. ./x
./x
/bin/ls
src/x
../x
eval ls
exec ls
env ls
env
env X=1 ls
printenv
xargs ls
ls | xargs rm
ls | sh
sudo ls
nohup ls
nice ls
timeout 5 ls
time ls
command ls
builtin echo hi
busybox ls
watch ls
setsid ls
stdbuf -o0 ls
strace ls
sleep 5
yes
tail -f a.txt
tail -F a.txt
tail --follow a.txt
less a.txt
man ls
ps aux
kill 1
cd src
cd .. && ls
cd src/.. && ls
cd / && ls
cd ~ && ls
cd - && ls
cd linkdir && ls
cd nowhere && ls
cd a.txt && ls
cd src || ls
cd src; ls
cd src | ls
! cd src && ls
cd src > x && ls
cd src && rm x.go
cd src && cd .. && ls
cd src && ls & pwd
cd -P src && ls
cd "$X" && ls
cd s* && ls
cd && ls
X=1 cd src && ls
ls && cd src && ls
git -C src push
git -C src log *
git -C src
git -C
git --no-pager push
git remote get-url
git remote set-url origin x
git stash list -p
git stash drop
git stash
command go
command -p ls
command -pv ls
npm --version
yarn --version
cargo --version
rustc --version
python3 --version x
sed -n '1p;w x' a.txt
sed -n '1p;1e id' a.txt
export X=1
set -x
alias ls=rm
unset x
read x
trap 'rm x' EXIT
ulimit -n
umask 0
find . -exec rm {} ;
find . -exec rm {} \;
find . -exec rm {} +
find . -execdir rm {} +
find . -delete
find . -ok rm {} \;
find . -okdir rm {} \;
find . -fprint x
find . -fprintf x y
find . -fls x
find . -fprint0 x
find -L . -name x
find . -follow
find . -name *.go
find . '-delete'
find . -"delete"
find . -files0-from a.txt
rg --pre ./x foo
rg --pre=./x foo
rg --hostname-bin ./x foo
rg -z foo
rg --search-zip foo
rg -L foo
rg --follow foo
rg -f a.txt
grep -R foo .
grep -f a.txt b.txt
grep --file=a.txt b.txt
grep -rn foo --devices=read .
sort -o x a.txt
sort -ox a.txt
sort --output=x a.txt
sort --outp x a.txt
sort --compress-program=./x a.txt
sort -T src a.txt
sort --files0-from=a.txt
sort "-o" x a.txt
sort -no x a.txt
uniq a.txt b.txt
uniq *.txt
wc --files0-from=a.txt
du --files0-from=a.txt
xxd a.txt b.txt
xxd -r a.txt
diff -r src dir
diff src dir
diff -l a.txt b.txt
diff --to-file=x a.txt
tree -o x
tree -l
tree -Io x main.go
tree -Lo 2 main.go
tree -Po x main.go
xxd -ps in main.go
xxd a.txt -u
xxd a.txt --
xxd -- a.txt
uniq a.txt -c
uniq a.txt -
xxd -bs in main.go
xxd -is in main.go
git diff -U --output=main.go
git log -U --output=main.go
git show -U --output=main.go
tail -cf a.txt
tail -cF a.txt
sed -i s/a/b/ a.txt
sed -n -i 1p a.txt
sed -n 'w x' a.txt
sed '1e id' a.txt
sed -n '1,2w x' a.txt
sed s/a/b/w a.txt
sed 's/a/b/e' a.txt
sed -f a.txt
sed --in-place 1p a.txt
date -s 12:00
date 010112002026
date --set=x
date -f a.txt
file -C
file -f a.txt
file -m x a.txt
hostname x
sha256sum -c a.txt
jq env
jq -n '$ENV.PATH'
jq -n 'env.HOME'
jq -f a.txt data.json
jq 'import "a" as $a; .' data.json
jq -L src . data.json
jq --rawfile x a.txt . data.json
jq 'input_filename' data.json
printf -v x y
printf -v 'a[$(id)]' y
printf '%n' 'a[$(id)]'
printf '%d' 'a[$(id)]'
printf '%s' *.txt
git log --format=%G?
git describe --abbrev /etc/passwd
git log --since x
git log --pretty=tformat:%h%GK
printf '%(%s)T' 1
test -v 'a[$(id)]'
[ -v x ]
[ -R x ]
[ 'a[$(id)]' -eq 0 ]
[ -f a.txt
[[ -f a.txt ]]
[[ -v a[$(id)] ]]
(( x = 1 ))
let x=1
echo $(( x = 1 ))
echo $((a[$(id)]))
git
git commit -m x
git push
git pull
git fetch
git checkout .
git reset --hard
git clean -fd
git stash
git add .
git config --get user.name
git config --list
git -c core.pager=./x log
git --git-dir=x status
git --exec-path=. status
git -p log
git --paginate log
git log --output=x
git log --output x
git log --outp=x
git diff --ext-diff
git diff --textconv
git diff --no-index a.txt b.txt
git show --ext-diff
git log --show-signature
git grep -O foo
git grep --open-files-in-pager=./x foo
git branch new
git branch -d x
git branch -D x
git branch -m a b
git branch --edit-description
git tag v1
git tag -d v1
git remote add x y
git remote show origin
git submodule status
git cat-file --textconv HEAD:a.txt
git cat-file --filters HEAD:a.txt
git blame --contents x a.txt
git rev-parse --parseopt
git bisect run ./x
git rebase --exec ./x
git status --no-such
git x
git archive HEAD
git status; git push
ls > x
ls >> x
ls >| x
ls 1> x
ls 2> x
ls &> x
ls &>/dev/null
ls >& x
ls >&x
ls <> x
ls >&3
ls 3>&1
ls 10>/dev/null
ls > /dev/tcp/example.com/80
echo > /dev/tcp/1.2.3.4/80
cat < /dev/tcp/1.2.3.4/80 > x
ls > "a b"
ls > $X
ls > /dev/null > x
ls > /dev/stdout
ls > /dev/nullx
ls > /dev/null/../../x
ls {fd}> x
> x
echo x > a.txt
ls & rm -rf x
ls &
ls & pwd
ls; rm x
ls;rm x
ls && rm x
ls || rm x
ls | rm x
ls |& cat
ls%\nrm x
ls%\rrm x
ls%\r
ls # x%\nrm x
cat a.txt%\0
git status && rm x
git status | xargs rm
echo $(rm x)
echo "$(rm x)"
echo ` + "`rm x`" + `
echo "` + "`rm x`" + `"
cat <(rm x)
ls >(rm x)
cat << EOF%\n$(rm x)%\nEOF
cat << 'EOF'%\nx%\nEOF
cat <<< $(rm x)
cat <<< x
ls $X
ls "$X"
ls ${X}
ls ${X:-$(rm x)}
ls ${X:=y}
ls ${!X}
ls $@
ls $1
ls $?
$X
$(echo rm) x
"ls"
'ls'
l\s
l''s
l"s"
\ls
$'ls'
ls $'\x2e'
ls $"x"
ls$IFS-la
ls${IFS}x
cat$IFS/etc/passwd
{ls,-la}
ls {a,b}
ls {
ls a}b
git log HEAD@{1}
cat {/etc/passwd,a.txt}
cat a{1..3}
{ ls; }
(ls)
(ls; rm x)
if ls; then rm x; fi
for x in *; do rm $x; done
while true; do ls; done
until ls; do ls; done
case x in x) rm x;; esac
f() { rm x; }; f
function f { rm x; }
ls() { rm x; }; ls
ls() { rm x; }
coproc ls
coproc rm x
time -p ls
X=1
X=1 ls
PATH=. ls
LD_PRELOAD=./x ls
GIT_PAGER=./x git log
GIT_EXTERNAL_DIFF=./x git diff
IFS=x ls
BASH_ENV=x ls
a[$(rm x)]=1
declare x=1
local x
readonly x=1
typeset x
select x in a; do ls; done
ls @(a|b)
ls !(a)
ls +(a)
ls ["a"]*
ls [a"b"]*
ls a["b"]
ls [a
ls [[:alpha:]]*
find a.txt ["-"]exec sh b.txt ";"
find . ["-"]delete
sort a.txt ["-"]oout
ls [a/b]c
git blame -ML --output=a.txt b.txt
git blame -CL --contents=/etc/passwd a.txt
git log -Mn --output=x
xxd -uc a.txt b.txt
xxd -il a.txt b.txt
xxd -s *.txt
uniq -f *.txt
tree -LI 1 -- -o a.txt keep
tree -I -- -o a.txt
tree -I -o a.txt
sort -k -o a.txt
grep -e -f a.txt
tail -n x a.txt
head a.txt -n /etc/passwd
tail -c f a.txt
ls **/*.go
cat 'a'*
cat */*/*/*
cat dir/*
cat dir/pipe
cat < dir/pipe
grep x dir/pipe
mkfifo x
ls \
ls 'unclosed
ls "unclosed
ls |
ls &&
| ls
;
;;
)
ls )
!
#
:
: > x
:(){ :|:& };:
LS
Ls
ls --no-such
ls -H linkdir
ls --color=always --zero
cat --no-such a.txt
head --no-such
rev -x
echo hi > /dev/sda
mkfs.ext4 /dev/sda
shutdown now
history
fc -l
!!
!rm
enable -f ./x x
complete -C ./x
bind -x x
mapfile -C ./x
readarray x
compgen -C ./x
hash -p ./x ls
`

// odd are commands that hold what a table of text would hide.
var odd = []string{
	"",
	" ",
	"\n",
	"ls\u00a0-la",
	"ls\u2003-la",
	"ls \u2010la",
	"ls \u2212la",
	"ls\u037e rm x",        // the Greek question mark
	"ls\uff1brm x",         // the full-width semicolon
	"ls \uff5c rm x",       // the full-width bar
	"l\u0455",              // Cyrillic
	"саt a.txt",            // Cyrillic с and а
	"c\u0430t a.txt",       // and one inside a word
	"cat p\u0430ss.txt",    // also of an operand
	"cat p\u03b1ss.txt",    // Greek
	"\uff4c\uff53",         // full-width letters
	"\U0001d4c1\U0001d4c8", // mathematical letters
	"ls\u200b",
	"ls \u202e",
	"ls \u2028rm x",
	"ls \u0085rm x",
	"ls \x0brm x",
	"ls \x0crm x",
	"ls \x1b[2K",
	"ls\x00rm x",
	"\ufeffls",
	"ls \xff",
	"ls \\\n-la",
	"l\\\ns",
	"ls & \\\n rm x",
	"echo \"`id`\"",
	"ls \"\\`id\\`\" `id`",
}
