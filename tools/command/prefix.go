package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// offers are the prefixes that a rule can be made of, one per line: words, in
// which * is a name of the project and | separates alternatives, and the flags
// that may follow in addition to common ones; those after -- may only follow it.
// A prefix that is not listed fetches, publishes, removes, or runs what the next
// words say. In a line with ! each word is one more thing to do, so none may
// follow.
const offers = `
make|gmake -[kns]*j?[0-9]* -B -r
ninja ! -j[0-9]*
ninja * ! -j[0-9]*
mkdir -p
touch
gofmt|goimports -d -w -local
staticcheck -checks -tests -tags
golangci-lint run --fast --tests --timeout
pytest --maxfail --tb --lf --ff --durations --cov --no-header -[vqsxl]*[km] -rA -n
black --line-length --safe
ruff check|format --select --ignore --output-format --statistics --line-length
flake8 --max-line-length --statistics --count
pylint -E --disable --enable --errors-only
mypy --strict --pretty --ignore-missing-imports --warn-unused-ignores
pyright --outputjson --stats
isort --check-only
tsc --noEmit --strict --pretty --skipLibCheck
eslint --ext --max-warnings
prettier -c -w --write --list-different
stylelint --allow-empty-input
biome check|format|lint --write
jest -t --coverage --runInBand --testNamePattern
vitest run -t --coverage
phpunit --filter --testsuite --testdox
rspec -e -fd --example --tag --fail-fast
rubocop -a -A
shellcheck -S
shfmt -d -w -i
rustfmt --edition
clang-format -i
git add -A -u -N
git commit -[aqs]*m? --amend --no-edit --allow-empty
git mv
go build|vet -race -tags -trimpath
go test -run -race -count -short -cover -bench -benchmem -benchtime -timeout -tags -failfast -skip -list -parallel -json -vet -mod
go list -m -json -f -deps -test
go doc|fmt -src -short
go mod tidy
cargo bench|build|check|doc -p --package --features --workspace --all-targets --all-features --locked --offline --no-deps
cargo clippy -p --package --features --workspace --all-targets --all-features -- -[ADW]
cargo fmt -p -- --check
cargo test -p --package --features --workspace --lib --test --doc --no-run --all-features --locked --offline -- --nocapture --ignored --include-ignored --exact --test-threads
npm|yarn|pnpm test --if-present
npm|yarn|pnpm run *
just|task|rake * !
mvn compile|package|test|verify ! -B -DskipTests -Dtest=[\w#.]+
gradle build|check|test ! --no-daemon --offline --tests=[\w.]+
dotnet build|test -c --configuration --no-restore --no-build --filter
mix compile|format|test --warnings-as-errors --check-formatted --trace --failed
swift build|test -c --filter
zig build ! -Doptimize=\w+ -j[0-9]*
zig build * ! -Doptimize=\w+ -j[0-9]*
stack|cabal build|test --fast
bazel build|test -c --test_output=\w+
terraform fmt|validate -recursive -json
helm lint --strict
`

// What may follow any prefix: flags that only select, filter or report, and
// words that no shell started by the tool treats as more than a word.
const (
	commonFlags = `-[vqsxkl]+|-all|--(verbose|quiet|silent|color(=\w+)?|no-color|check|diff|fix|all|release|recursive|force-exclude)`
	commonWords = `[\w./%+,:^$# *-]+`
)

type offer struct {
	words         []string
	flags, behind *regexp.Regexp // what may be a flag, before -- and after it
	alone         bool           // no more words may follow
}

var allOffers = sync.OnceValue(func() (all []offer) {
	for line := range strings.Lines(strings.TrimSpace(offers)) {
		o := offer{}
		before, after, _ := strings.Cut(line, " -- ")
		flags := commonFlags
		for w := range strings.FieldsSeq(before) {
			switch {
			case w == "!":
				o.alone = true
			case w[0] == '-':
				flags += "|" + w + `(=[\w.,:-]+)?`
			default:
				o.words = append(o.words, w)
			}
		}
		o.flags = regexp.MustCompile(`^(` + flags + `)$`)
		o.behind = regexp.MustCompile(`^(` + strings.Join(strings.Fields(after), "|") + `)(=\w+)?$`)
		all = append(all, o)
	}
	return all
})

var scriptName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`)
})

// offered is which of the prefixes that are offered a call begins with, and how many of its
// words that is: the longest one.
func offered(words []string) (found offer, n int) {
	for _, o := range allOffers() {
		fits := len(words) >= len(o.words)
		for i, want := range o.words {
			fits = fits && (slices.Contains(strings.Split(want, "|"), words[i]) || want == "*" && scriptName().MatchString(words[i]))
		}
		if fits && len(o.words) > n {
			found, n = o, len(o.words)
		}
	}
	return found, n
}

// Prefix is the begin of the call that a rule can be made of: a program, or a
// program and what it is to do. It is nil if none can be stored.
func (c Call) Prefix() []string {
	_, n := offered(c.Words)
	if n == 0 {
		return nil
	}
	return c.Words[:n:n]
}

// Offered reports whether a prefix is one that Prefix returns. No other covers
// anything.
func Offered(prefix []string) bool {
	_, n := offered(prefix)
	return n > 0 && n == len(prefix)
}

// Covered reports whether the prefix covers the call: it is Offered, the call
// begins with its words, stays in the workspace and out of .git, starts the
// program that PATH has outside of it, is fed nothing by a pipe or a redirect,
// and has no words but those that are known to name no other program, settings,
// task or place to write. In which directory of the workspace it runs does not
// matter: a prefix holds in all of them.
func (c Call) Covered(prefix []string) bool {
	return Offered(prefix) && c.begins(prefix) && c.uncovered(prefix) == ""
}

// Exceeds returns why a call that begins with the words of a prefix is not
// covered by it. It is "" for every other.
func (c Call) Exceeds(prefix []string) string {
	rule := "the rule " + strings.Join(prefix, " ")
	if len(prefix) == 0 || !c.begins(prefix) {
		return ""
	}
	if !Offered(prefix) {
		return rule + " does not count: no such rule is made any more"
	}
	if why := c.uncovered(prefix); why != "" {
		return rule + " does not count here: " + why
	}
	return ""
}

func (c Call) begins(prefix []string) bool {
	return len(c.Words) >= len(prefix) && slices.Equal(c.Words[:len(prefix)], prefix)
}

// uncovered is what in the call a prefix does not cover: the words and flags behind it that are
// not known to be harmless, one more task, what is piped into it.
func (c Call) uncovered(prefix []string) string {
	o, n := offered(prefix)
	switch {
	case c.uncertain:
		return "which program it starts is not certain"
	case c.fed:
		return "something is piped or redirected into it"
	case c.outside:
		return "something in it leads out of the workspace, or into .git"
	}
	words := regexp.MustCompile(`^(?s:` + commonWords + `)$`)
	flags := o.flags
	for i, w := range c.Words[n:] {
		before := c.Words[n+i-1]
		message := prefix[0] == "git" && before[0] == '-' && strings.HasSuffix(before, "m")
		switch flag := strings.HasPrefix(w, "-"); {
		case w == "--" && !o.alone:
			flags = o.behind
		case flag && flags.MatchString(w), !flag && !o.alone && words.MatchString(w), message:
		default:
			return fmt.Sprintf("%.40q is not among what it covers", w)
		}
	}
	return ""
}
