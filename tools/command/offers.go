package command

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// offer is a prefix that a rule can be made of, and what may follow it. What is
// missing in the list fetches, publishes, removes, runs what the next words say, or writes it to whatever file they name, as
// compilers do.
type offer struct {
	words    string // a * at the end is a name of the project
	flags    string // what a flag may look like, as a regular expression
	behind   string // the same behind --, where the flags are another program's
	operands string // what all other words may look like, also the values of flags; "": anything but a file of flags (@FILE)
}

// Operands of programs that hand them to a shell, that take each for one more thing to do, of go, which fetches a module
// with a version, of dotnet, which takes settings for tests, and of those that make files of their own for init.
const (
	simple      = `[\w./%+,:-]+`
	none        = `$^`
	unversioned = `[^@]*`
	unset       = `([^@=][^=]*)?`
	noInit      = `([^@i]|i[^n]|in[^i]|ini[^t]|init.).*|(i|in|ini)?`
)

// Flags that several programs have. None names a program, a module to load, a
// file of settings, another directory, or where to write.
const (
	goBuild = `--?(a|n|p|v|x|race|msan|asan|tags|trimpath|buildvcs|json)(=.*)?|--?mod=(vendor|readonly)`
	goTest  = goBuild + `|--?(run|skip|list|bench|benchtime|benchmem|count|short|cover|covermode|coverpkg|timeout|parallel|cpu|failfast|fullpath|shuffle|fuzz|fuzztime|vet)(=.*)?`
	cargo   = `-[qrvj]+[0-9]*|-[pF]|--(release|workspace|all|all-targets|all-features|no-default-features|lib|bins|examples|tests|benches|locked|offline|frozen|quiet|verbose|keep-going|no-fail-fast|no-run|no-deps|doc)|--(bin|example|test|bench|package|exclude|features|jobs|profile|color)(=.*)?`
	dotnet  = `-[cfr]|-v(:\w+)?|--(configuration|framework|runtime|verbosity|no-restore|no-build|nologo|list-tests|filter)(=.*)?`
	ninja   = `-[vn]+|-[jkl][0-9]*|--(verbose|quiet)`
	zig     = `-Doptimize=\w+|--verbose|-j[0-9]+`
	maven   = `-[qBeoU]+|-(am|amd|fae|fn|ff|ntp)|--(batch-mode|quiet|offline|no-transfer-progress|fail-at-end|fail-fast)|-Dtest=.*|-Dskip(Tests|ITs)(=\w+)?`
	gradle  = `-[qis]|--(quiet|info|stacktrace|offline|continue|parallel|no-daemon|rerun-tasks|build-cache|no-build-cache|console=\w+|tests=.*)`
	npm     = `-s|--(silent|if-present)`
	gofmt   = `-[lwdse]|-srcdir`
	biome   = `--(write|fix|verbose|error-on-warnings|no-errors-on-unmatched|(diagnostic-level|max-diagnostics|colors)(=\w+)?)`
	mix     = `--(force|all-warnings|warnings-as-errors|trace|stale|failed|cover|color|no-color|check-formatted|dry-run|(seed|only|exclude|include|max-failures|slowest)(=.*)?)`
	swift   = `-[cqv]|--(configuration|verbose|quiet|parallel|filter|skip|skip-build|enable-code-coverage)(=.*)?`
	haskell = `-v[0-3]?|-j[0-9]*|--(fast|pedantic|dry-run|test|no-run-tests)`
	bazel   = `-[ck]|--(keep_going|nocache_test_results|(jobs|test_output|test_filter|compilation_mode)(=\w+)?)`
	making  = `-[knsiBqwrRd]*(j[0-9]*)?|--(keep-going|silent|quiet|dry-run|just-print|ignore-errors|always-make|question|print-directory|no-print-directory|no-builtin-rules|jobs(=[0-9]+)?|output-sync(=\w+)?)`
)

var offers = []offer{
	{words: "make", flags: making, operands: simple},
	{words: "gmake", flags: making, operands: simple},
	{words: "ninja *", flags: ninja, operands: `[0-9]+`}, {words: "ninja", flags: ninja, operands: `[0-9]+`},
	{words: "mkdir", flags: `-[pv]*m?|--(parents|verbose)`},
	{words: "touch", flags: `-[acm]+|-[dt]`},
	{words: "gofmt", flags: gofmt},
	{words: "goimports", flags: gofmt + `|-(v|local|format-only)(=.*)?`},
	{words: "staticcheck", flags: `-(checks|f|fail|go|tags|tests|explain|show-ignored|matrix)(=.*)?`},
	{words: "golangci-lint run", flags: `-[vED]|--(verbose|fast|fast-only|new|tests|timeout|enable|disable|enable-only|build-tags|max-issues-per-linter|max-same-issues|issues-exit-code|color)(=.*)?`},
	{words: "pytest", flags: `-[vqsxl]*[kmn]?|-[kmn].*|-r\w+|--(verbose|quiet|exitfirst|showlocals|lf|last-failed|ff|failed-first|nf|new-first|sw|stepwise|co|collect-only|no-header|no-summary|disable-warnings|setup-show|strict-markers|cov|(tb|maxfail|durations|color|timeout|cov|deselect|ignore)(=.*)?)|--cov-report=(term|term-missing)`},
	{words: "black", flags: `-[qvlSt]|--(check|diff|safe|fast|quiet|verbose|color|no-color|line-length|target-version|skip-string-normalization|preview)(=.*)?`},
	{words: "ruff check", flags: `-[qvn]+|--(fix|diff|quiet|verbose|no-cache|exit-zero|preview|statistics|show-fixes|select|ignore|extend-select|extend-ignore|exclude|target-version|line-length|output-format)(=.*)?`},
	{words: "ruff format", flags: `-[qvn]+|--(check|diff|quiet|verbose|no-cache|preview|exclude|target-version|line-length)(=.*)?`},
	{words: "flake8", flags: `-[qv]+|-j|--(count|statistics|show-source|max-line-length|max-complexity|ignore|extend-ignore|select|extend-select|exclude|jobs)(=.*)?`},
	{words: "pylint", flags: `-[Edej]|-[rs][ny]|--errors-only|--(disable|enable|reports|score|jobs|max-line-length|fail-under)(=.*)?|--output-format=(text|json|json2|colorized|parseable)`},
	{words: "mypy", flags: `-[vpm]|--(strict|pretty|verbose|ignore-missing-imports|check-untyped-defs|show-error-codes|show-error-context|show-column-numbers|no-error-summary|no-incremental|no-color-output|namespace-packages|explicit-package-bases|python-version=[\d.]+|exclude=.*|(disallow|warn|no-warn|no-strict|no-implicit|allow)-[\w-]+)`},
	{words: "pyright", flags: `--(outputjson|stats|verbose|warnings|skipunannotated|level|pythonversion)(=.*)?`},
	{words: "isort", flags: `-[cqvl]|--(check|check-only|diff|quiet|verbose|line-length)(=.*)?`},
	{words: "tsc", flags: `--(noEmit|strict|skipLibCheck|pretty|noEmitOnError|target|module|moduleResolution|jsx|lib|esModuleInterop|allowJs|checkJs|listFiles|diagnostics)`},
	{words: "eslint", flags: `--(fix|fix-dry-run|quiet|color|no-color|cache|no-error-on-unmatched-pattern|(ext|max-warnings)(=.*)?|format=(stylish|json|html))`},
	{words: "prettier", flags: `-[cwlu]|--(check|write|list-different|ignore-unknown|no-color|single-quote|no-semi|(tab-width|print-width|log-level|trailing-comma)(=\w+)?)`},
	{words: "stylelint", flags: `-q|--(fix|quiet|color|no-color|allow-empty-input|max-warnings(=[0-9]+)?)`},
	{words: "biome check", flags: biome}, {words: "biome format", flags: biome}, {words: "biome lint", flags: biome},
	{words: "jest", flags: `-[tibuwo]|--(runInBand|verbose|silent|ci|bail|onlyChanged|onlyFailures|passWithNoTests|detectOpenHandles|forceExit|coverage|colors|listTests|updateSnapshot|no-cache|(testNamePattern|testPathPattern|testPathPatterns|watchAll|maxWorkers)(=.*)?)`},
	{words: "vitest", flags: `-[tu]|--(run|silent|update|passWithNoTests|no-color|(testNamePattern|bail)(=.*)?)`, operands: noInit},
	{words: "mocha", flags: `-[gfbti]|--(grep|fgrep|bail|timeout|invert|recursive|exit|forbid-only|no-color|color|dry-run)(=.*)?`, operands: noInit},
	{words: "phpunit", flags: `-v|--(filter|group|exclude-group|testsuite|testdox|stop-on-failure|stop-on-error|no-coverage|list-tests|verbose|colors(=\w+)?)`},
	{words: "rspec", flags: `-[etbn]|-f[dpj]|--(example|tag|fail-fast|backtrace|seed|order|only-failures|next-failure|dry-run|color|no-color)(=.*)?|--format=(doc|documentation|progress|json)`},
	{words: "rubocop", flags: `-[aAlLPxSD]+|--(autocorrect|autocorrect-all|auto-correct|lint|parallel|fail-fast|no-color|(only|except|fail-level)(=.*)?)`},
	{words: "shellcheck", flags: `-[xaseSfoiC]|--(external-sources|norc|(shell|exclude|severity|format|enable|include|color)(=.*)?)`},
	{words: "shfmt", flags: `-[dwlsip]|-(ci|bn|sr|kp|fn|mn|ln(=\w+)?)|--(diff|write|list|simplify|(indent|language-dialect)(=\w+)?)`},
	{words: "rustfmt", flags: `-[lvq]|--(check|verbose|quiet|(edition|color)(=\w+)?)`},
	{words: "clang-format", flags: `-[in]|--?(dry-run|Werror|verbose|style=(file|LLVM|Google|Chromium|Mozilla|WebKit|Microsoft|GNU))`},

	{words: "git add", flags: `-[AuvnN]+|--(all|update|verbose|dry-run|intent-to-add)`},
	{words: "git commit", flags: `-[aqvs]*(m.*)?|--(all|quiet|verbose|signoff|amend|no-edit|allow-empty|dry-run|message(=.*)?)`, operands: `.*`},
	{words: "git mv", flags: `-[vnk]+|--(verbose|dry-run)`},
	{words: "go build", flags: goBuild, operands: unversioned}, {words: "go vet", flags: goBuild + `|--?c=[0-9]+`, operands: unversioned}, {words: "go test", flags: goTest, operands: unversioned},
	{words: "go list", flags: goBuild + `|--?(f|m|e|deps|test|find|retracted)(=.*)?`, operands: unversioned},
	{words: "go doc", flags: `--?(all|c|cmd|short|src|u)`, operands: unversioned}, {words: "go fmt", flags: `--?[nx]`}, {words: "go mod tidy", flags: `--?([vex]|diff)`},
	{words: "cargo bench", flags: cargo}, {words: "cargo build", flags: cargo}, {words: "cargo check", flags: cargo}, {words: "cargo doc", flags: cargo},
	{words: "cargo clippy", flags: cargo, behind: `-[ADW].*`},
	{words: "cargo fmt", flags: `-[qvp]|--(all|check|quiet|verbose|package(=.*)?)`, behind: `--check|-[lvq]`},
	{words: "cargo test", flags: cargo, behind: `-q|--(nocapture|no-capture|ignored|include-ignored|exact|list|show-output|quiet|(skip|test-threads|color)(=.*)?)`},
	{words: "npm test", flags: npm, operands: simple}, {words: "yarn test", operands: simple}, {words: "pnpm test", operands: simple},
	{words: "npm run *", flags: npm, operands: simple}, {words: "yarn run *", operands: simple}, {words: "pnpm run *", operands: simple},
	{words: "just *", operands: none}, {words: "task *", operands: none}, {words: "rake *", operands: none},
	{words: "mvn compile", flags: maven, operands: none}, {words: "mvn package", flags: maven, operands: none},
	{words: "mvn test", flags: maven, operands: none}, {words: "mvn verify", flags: maven, operands: none},
	{words: "gradle build", flags: gradle, operands: none}, {words: "gradle check", flags: gradle, operands: none}, {words: "gradle test", flags: gradle, operands: none},
	{words: "dotnet build", flags: dotnet, operands: unset}, {words: "dotnet test", flags: dotnet, operands: unset},
	{words: "mix compile", flags: mix}, {words: "mix format", flags: mix}, {words: "mix test", flags: mix},
	{words: "swift build", flags: swift}, {words: "swift test", flags: swift},
	{words: "zig build *", flags: zig, operands: none}, {words: "zig build", flags: zig, operands: none},
	{words: "stack build", flags: haskell}, {words: "stack test", flags: haskell}, {words: "cabal build", flags: haskell}, {words: "cabal test", flags: haskell},
	{words: "bazel build", flags: bazel}, {words: "bazel test", flags: bazel},
	{words: "terraform fmt", flags: `--?(recursive|check|diff|no-color|write(=\w+)?)`}, {words: "terraform validate", flags: `--?(json|no-color)`},
	{words: "helm lint", flags: `--(strict|quiet)`},
}

var scriptName = late(`^[a-z][a-z0-9:_-]*$`)

// offered is what a call begins with, and how many of its words that is.
func offered(words []string) (o offer, n int) {
	for _, o := range offers {
		want := strings.Fields(o.words)
		n, named := len(want), strings.HasSuffix(o.words, "*")
		if named {
			want = want[:n-1]
		}
		if len(words) >= n && slices.Equal(words[:len(want)], want) && (!named || scriptName().MatchString(words[n-1])) {
			return o, n
		}
	}
	return o, 0
}

// excess is the first word that may not follow. ok tells that there is none.
func (o offer) excess(words []string) (word string, ok bool) {
	whole := func(pattern, otherwise string) *regexp.Regexp {
		return regexp.MustCompile(`(?s)^(` + cmp.Or(pattern, otherwise) + `)$`)
	}
	flags, operands := whole(o.flags, none), whole(o.operands, `([^@].*)?`)
	for _, w := range words {
		allowed := operands
		if strings.HasPrefix(w, "-") {
			allowed = flags
		}
		switch {
		case w == "--":
			flags = whole(o.behind, none)
		case !allowed.MatchString(w):
			return w, false
		}
	}
	return "", true
}
