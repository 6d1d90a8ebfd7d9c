package command

import (
	"regexp"
	"slices"
	"strings"
)

// tools are programs that build, test, format or make files of a project, and
// nothing that their arguments name.
var tools = strings.Fields(`make gmake ninja mkdir touch gofmt goimports staticcheck golangci-lint pytest black ruff flake8 pylint mypy pyright isort
	tsc eslint prettier stylelint biome jest vitest mocha phpunit rspec rubocop shellcheck shfmt rustfmt clang-format ` + compilers)

const compilers = "gcc g++ cc c++ clang clang++"

// tasks are what programs that can do many things may be allowed to do. What is missing fetches, publishes,
// removes, or runs what the next words say.
var tasks = lines(`
	git add
	git commit
	git mv
	go build
	go doc
	go fmt
	go list
	go mod tidy
	go test
	go vet
	cargo bench
	cargo build
	cargo check
	cargo clippy
	cargo doc
	cargo fmt
	cargo test
	npm test
	yarn test
	pnpm test
	mvn compile
	mvn package
	mvn test
	mvn verify
	gradle build
	gradle check
	gradle test
	dotnet build
	dotnet test
	mix compile
	mix format
	mix test
	swift build
	swift test
	zig build
	stack build
	stack test
	cabal build
	cabal test
	bazel build
	bazel test
	terraform fmt
	terraform validate
	helm lint
`)

// scripts run what a file of the project has under the name that follows.
var scripts = lines("npm run\nyarn run\npnpm run\njust\ntask\nrake")

var scriptName = regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`)

func lines(text string) (out [][]string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		out = append(out, strings.Fields(line))
	}
	return out
}

// Prefix is what somebody would allow who allows this call and others like it: a known tool for building
// and testing, with what it is told to do if it can do several things. It is nil for every other program: a rule for one
// that starts others, or runs what it is given, would be a rule for everything.
func (c Call) Prefix() []string {
	if slices.Contains(tools, c.Words[0]) {
		return c.Words[:1:1]
	}
	for _, t := range tasks {
		if begins(c.Words, t) {
			return c.Words[:len(t):len(t)]
		}
	}
	for _, s := range scripts {
		if n := len(s); begins(c.Words, s) && len(c.Words) > n && scriptName.MatchString(c.Words[n]) {
			return c.Words[: n+1 : n+1]
		}
	}
	return nil
}

// Offered reports whether a prefix is one that Prefix returns. No other covers
// anything.
func Offered(prefix []string) bool {
	return len(prefix) > 0 && slices.Equal(Call{Words: prefix}.Prefix(), prefix)
}

func begins(words, with []string) bool {
	return len(words) >= len(with) && slices.Equal(words[:len(with)], with)
}

// launching are flags of usual tools that name a program to start, a file of
// settings that may name one, or where to write.
var launching = strings.Fields(`exec toolexec vettool exec-path upload-pack receive-pack ext-diff extcmd config config-file configfile config-env rcfile init-file command cmd eval
	shell script-shell node-options use-compress-program pager open-files-in-pager gpg-program modfile overlay compress-program wrapper ldflags gccgoflags
	fplugin fpass-plugin plugin load load-plugin load-plugins specs Xclang output output-file outfile template
	init-hook execute import userconfig globalconfig workspace_status_command require preload`)

// ofGo are those of go, which takes no abbreviations.
var ofGo = strings.Fields("exec toolexec vettool modfile overlay ldflags gcflags asmflags gccgoflags pkgdir o outputdir coverprofile cpuprofile memprofile blockprofile mutexprofile trace")

// launches reports whether a word is one of these flags, or short for one: many
// programs take a flag by its first letters.
func launches(program, word string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	compiler := slices.Contains(strings.Fields(compilers), program)
	switch {
	case compiler && word[0] == '@': // a file of flags
		return true
	case word[0] != '-':
		return false
	case program == "go":
		return slices.Contains(ofGo, name)
	case compiler && (word[1:] != "" && word[1] == 'B' || strings.Contains(word, "plugin")):
		return true
	case program == "make" || program == "gmake":
		if !strings.HasPrefix(word, "--") && strings.ContainsAny(name, "Ef") || strings.HasPrefix(name, "file") || strings.HasPrefix(name, "makef") {
			return true
		}
	case !compiler && slices.Contains(tools, program) && !strings.HasPrefix(word, "--") && strings.ContainsAny(name, "co"): // settings, output
		return true
	}
	return len(name) > 2 && slices.ContainsFunc(launching, func(l string) bool { return strings.HasPrefix(l, name) })
}

// Covered reports whether the call is one that the prefix stands for: it is Offered, the call begins with its words, stays
// in the workspace and out of .git, starts the program that PATH has outside of it, and has no flag that starts another program or
// leads to other files.
func (c Call) Covered(prefix []string) bool {
	return Offered(prefix) && begins(c.Words, prefix) && c.excess(len(prefix)) == ""
}

// Exceeds says why a call that begins with the words of a prefix is not covered
// by it. It is "" for every other.
func (c Call) Exceeds(prefix []string) string {
	if !begins(c.Words, prefix) || len(prefix) == 0 {
		return ""
	}
	rule := "the rule " + strings.Join(prefix, " ")
	if !Offered(prefix) {
		return rule + " does not count: no such rule is made any more"
	}
	if why := c.excess(len(prefix)); why != "" {
		return rule + " does not count here: " + why
	}
	return ""
}

func (c Call) excess(n int) string {
	switch {
	case c.odd:
		return c.Why
	case c.Outside:
		return "something in it leads out of the workspace, or into .git"
	}
	for _, w := range c.Words[n:] {
		switch {
		case assignment(w), (c.Words[0] == "make" || c.Words[0] == "gmake") && strings.Contains(w, "="): // X:=, SHELL!=
			return w + " sets a variable"
		case w != "" && launches(c.Words[0], w):
			return w + " may start another program or write elsewhere"
		}
	}
	return ""
}
