package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// rule lists what the packages at and below a path may import from this module,
// besides packages of their own folder. The longest matching path applies.
type rule struct {
	path   string
	may    []string // exact import paths below the module; "*" is everything
	reason string
}

var rules = []rule{
	{"protocol", nil, "protocol turns text into meaning and back; it is given names and schemas, so that every consumer can use it alone"},
	{"internal", nil, "what the families share without knowing it: processes, names, temporary directories and full disks"},
	{"providers", []string{"internal/*"}, "a backend knows models and errors; how tools are called is none of its business"},
	{"providers/demo", []string{"providers", "protocol", "providers/*"}, "the demo model writes the protocol, and that is all it needs"},
	{"providers/scripted", []string{"providers", "protocol", "providers/*"}, "a script may hold calls in the protocol, and that is all it needs"},
	{"providers/calling", []string{"providers", "protocol", "prompts", "tools"}, "the one place that shows tools to a model and reads its reply; it runs none of them"},
	{"providers/serve", []string{"providers", "providers/calling"}, "a surface is a form of requests and replies; whose model answers is passed in"},
	{"tools", []string{"internal/*"}, "a tool is a name, a schema and a function; it does not know who calls it"},
	{"tools/recall", []string{"tools", "tools/*", "memory", "internal/*"}, "recall is the tool of the memory"},
	{"tools/mcp", []string{"tools", "tools/*", "memory/lexical", "internal/*"}, "tools of servers are tools; the many of them are found as memories are"},
	{"memory", []string{"internal/*"}, "the store takes an embedding function, so that it knows no backend"},
	{"prompts", nil, "prompts are templates over plain values"},
	{"agent", []string{"protocol", "providers", "providers/calling", "tools", "prompts"}, "the loop works with interfaces: a concrete backend, tool, store or recorder is passed in"},
	{"agent/journal", []string{"agent", "protocol", "providers", "tools", "prompts"}, "the journal records what the agent does; the agent knows only its Recorder"},
	{"agent/plan", []string{"agent", "protocol", "providers", "tools", "prompts"}, "plans are made of runs; a run knows no plan"},
	{"agent/acp", []string{"agent", "agent/plan", "protocol", "providers", "tools"}, "an editor gets the events of runs and plans; what a session is, its host decides"},
	{"agent/remember", []string{"agent", "tools", "tools/recall", "prompts", "memory"}, "what a run leaves becomes documents of the memory here, so that neither the agent nor the store knows the other"},
	{"agent/eval", []string{"agent", "agent/journal", "internal/*", "protocol", "providers", "providers/calling", "tools", "tools/files", "tools/files/undo"}, "an exam is made of runs with simulated or confined tools, and of their journals; a run knows no exam"},
	{"cmd/mylm", []string{"*"}, "the command puts everything together"},
	{"cmd/mylm/internal/failure", []string{"agent", "internal/*", "protocol", "providers", "tools"}, "a failure is an error with an exit code and a hint; it knows no terminal and no setting"},
	{"cmd/mylm/internal/term", []string{"cmd/mylm/internal/failure"}, "what knows a terminal knows no run"},
	{"cmd/mylm/internal/markdown", []string{"cmd/mylm/internal/term"}, "Markdown becomes rows of text; who wrote it and where the rows go is not known here"},
	{"cmd/mylm/internal/cmdline", []string{"cmd/mylm/internal/failure", "cmd/mylm/internal/term"}, "a command line is read without a word about what the commands do"},
	{"cmd/mylm/internal/config", []string{
		"cmd/mylm/internal/failure", "cmd/mylm/internal/term", "memory/redact", "providers", "providers/langchain", "tools", "tools/policy", "tools/sandbox", "tools/web",
	}, "settings are values; the backends, rules and hosts that they name are known here to check them, and nothing is run"},
	{"cmd/mylm/internal/setup", []string{
		"agent", "agent/*", "cmd/mylm/internal/config", "cmd/mylm/internal/failure", "cmd/mylm/internal/term", "memory", "memory/*", "prompts", "protocol",
		"providers", "providers/*", "tools", "tools/*", "tools/files/*",
	}, "a setup is made of settings, and does not know where the events of a run go"},
	{"cmd/mylm/internal/sink", []string{"agent", "agent/*", "cmd/mylm/internal/cmdline", "cmd/mylm/internal/failure", "cmd/mylm/internal/markdown", "cmd/mylm/internal/term", "providers", "tools/files", "tools/shell"},
		"a sink takes events, and has flags that select it; it knows neither settings nor how a run was set up"},
	{"cmd/mylm/internal/plans", []string{"agent/plan", "cmd/mylm/internal/cmdline", "cmd/mylm/internal/config", "cmd/mylm/internal/sink", "cmd/mylm/internal/term"},
		"flags become options of a plan; who carries it out is not known here"},
	{"cmd/mylm/internal/chat", []string{"agent", "cmd/mylm/internal/failure", "cmd/mylm/internal/setup", "cmd/mylm/internal/term", "tools/ask", "tools/files"},
		"a conversation shows what a screen gets and asks what a setup asks; it knows neither runs nor settings"},
	{"scripts", nil, "scripts measure and fetch from outside"},
	{"scripts/mcp-driver", []string{"tools", "tools/mcp"}, "what the suite tests is this client"},
	{"scripts/prompt-tokens", []string{"agent/eval", "prompts", "providers/calling"}, "what is counted is the prompt of an exam"},
	{"scripts/rank", []string{"memory/lexical"}, "what is learned is how this package ranks"},
}

// topLevel are the folders that may hold Go packages.
var topLevel = []string{"agent", "cmd", "internal", "memory", "prompts", "protocol", "providers", "scripts", "tools"}

// maxLines is how many lines of code can be read in one go.
const (
	maxLines    = 400
	parserLines = 800
)

// source is one Go file of the module, not a test.
type source struct {
	path, dir string // below the module root, with slashes
	lines     int
	*ast.File
}

// sources returns every Go file of the module, for all systems.
func sources(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	all, err := parseSources()
	if err != nil || len(all) == 0 {
		t.Fatalf("this test reads the module's source, %d files: %v", len(all), err)
	}
	return sourceSet, all
}

var sourceSet = token.NewFileSet()

// parseSources parses them once for all tests, which do not change them.
var parseSources = sync.OnceValues(func() (all []source, err error) {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != root && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && p != root { // another module
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(sourceSet, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, source{rel, path.Dir(rel), sourceSet.File(f.Pos()).LineCount(), f})
		return nil
	})
	return all, err
})

// elsewhere are what only nested modules import: with it would come servers, and
// megabytes that most users have no use for.
var elsewhere = []string{"github.com/jackc/", "github.com/pgvector/", "github.com/pressly/goose", "go.opentelemetry.io/", "go.temporal.io/"}

func TestImports(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod") // it lists what is imported by way of others, too
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range elsewhere {
		if strings.Contains(string(mod), name) {
			t.Errorf("go.mod names %s, which belongs in a nested module", name)
		}
	}
	_, all := sources(t)
	for _, f := range all {
		r := ruleFor(f.dir)
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
			if slices.ContainsFunc(elsewhere, func(name string) bool { return strings.HasPrefix(imported, name) }) {
				t.Errorf("%s imports %s, which belongs in a nested module", f.path, imported)
			}
			target, ours := strings.CutPrefix(imported, "mylm/")
			if ours && !allowed(r, f.dir, target) {
				t.Errorf("%s imports mylm/%s, but may import %v: %s", f.path, target, r.may, r.reason)
			}
		}
	}
}

// The tests of the command start their own binary thousands of times, and each start
// would set these packages up: the validator takes longer than the rest of a start, the
// extensions of Markdown take a fifth of what all other packages take.
func TestTestsStartAtOnce(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			if path := spec.Path.Value; strings.Contains(path, "santhosh-tekuri/jsonschema") || strings.HasSuffix(path, "yuin/goldmark\"") || strings.Contains(path, "goldmark/extension") {
				t.Errorf("%s imports %s: use the package of eventSchema, or the parser of Markdown alone", name, path)
			}
		}
	}
}

// The documents name the functions that carry out their rules.
func TestDocumentsNameFunctions(t *testing.T) {
	row := regexp.MustCompile("`(\\w+)` in ([\\w/]+\\.go)")
	for _, doc := range []string{"permissions.md", "running.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", doc))
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), "## In the code")
		rows := row.FindAllStringSubmatch(table, -1)
		if len(rows) == 0 {
			t.Errorf("%s names no function", doc)
		}
		for _, m := range rows {
			source, err := os.ReadFile(filepath.Join("../..", m[2]))
			if err != nil || !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+m[1]+`[[(]`).Match(source) {
				t.Errorf("%s: there is no function %s in %s (%v)", doc, m[1], m[2], err)
			}
		}
	}
}

func ruleFor(dir string) rule {
	var best rule
	for _, r := range rules {
		if (dir == r.path || strings.HasPrefix(dir, r.path+"/")) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best
}

// allowed lets a package import the folder that its rule names and the packages
// below it, unless a narrower rule separates them.
func allowed(r rule, dir, target string) bool {
	switch {
	case strings.HasPrefix(target, "cmd/") && dir != "cmd/mylm" && !strings.HasPrefix(dir, "cmd/mylm/"):
		return false
	case slices.Contains(r.may, "*"), slices.Contains(r.may, target), slices.Contains(r.may, path.Dir(target)+"/*"):
		return true
	}
	return r.path != "" && ruleFor(target).path == r.path
}

// TestImportRules tests the rules themselves, since a rule that allows everything
// finds nothing.
func TestImportRules(t *testing.T) {
	tests := []struct {
		dir, target string
		want        bool
	}{
		{"tools/shell", "tools", true},
		{"providers/ollama", "providers/internal/wire", true},
		{"agent", "tools", true},
		{"agent/plan", "agent", true},
		{"tools/recall", "memory", true},
		{"tools/mcp", "memory/lexical", true},
		{"tools/mcp", "memory", false},
		{"providers/demo", "protocol", true},
		{"cmd/mylm", "providers/ollama", true},
		{"cmd/mylm", "cmd/mylm/internal/sink", true},
		{"cmd/mylm/internal/setup", "cmd/mylm/internal/config", true},
		{"cmd/mylm/internal/setup", "cmd/mylm/internal/sink", false},
		{"cmd/mylm/internal/config", "cmd/mylm/internal/setup", false},
		{"cmd/mylm/internal/config", "agent", false},
		{"cmd/mylm/internal/term", "agent", false},
		{"cmd/mylm/internal/sink", "cmd/mylm/internal/config", false},
		{"agent", "agent/plan", false},
		{"agent", "agent/journal", false},
		{"agent/plan", "agent/journal", false},
		{"agent", "providers/ollama", false},
		{"agent", "tools/shell", false},
		{"agent", "memory", false},
		{"agent/remember", "memory", true},
		{"agent/plan", "memory", false},
		{"memory", "agent/remember", false},
		{"agent", "cmd/mylm", false},
		{"protocol", "tools", false},
		{"providers/ollama", "protocol", false},
		{"tools", "providers", false},
		{"tools/shell", "memory", false},
		{"memory", "providers", false},
		{"utils", "tools", false},
	}
	for _, tt := range tests {
		if got := allowed(ruleFor(tt.dir), tt.dir, tt.target); got != tt.want {
			t.Errorf("%s may import %s: %v, want %v", tt.dir, tt.target, got, tt.want)
		}
	}
}

func TestPackagesAndFiles(t *testing.T) {
	_, all := sources(t)
	documented, packages := map[string]bool{}, map[string]bool{}
	for _, f := range all {
		top, _, _ := strings.Cut(f.path, "/")
		if !slices.Contains(topLevel, top) {
			t.Errorf("%s: Go packages live in %v; a package for one of them goes below it, in internal/ if nobody else needs it", f.path, topLevel)
		}
		if top == "cmd" && !strings.HasPrefix(f.dir, "cmd/mylm") {
			t.Errorf("%s: there is one command, cmd/mylm", f.path)
		}
		most := maxLines
		if f.dir == "protocol" {
			most = parserLines
		}
		if f.lines > most {
			t.Errorf("%s has %d lines, more than %d: split it by what its parts do", f.path, f.lines, most)
		}
		packages[f.dir] = true
		inPlace := path.Base(f.path) == "doc.go" || top == "scripts" // a script is one file
		if inPlace && f.Doc != nil && strings.TrimSpace(f.Doc.Text()) != "" {
			documented[f.dir] = true
		}
	}
	for dir := range packages {
		if !documented[dir] {
			t.Errorf("%s has no doc.go with a package comment: say what it is, its smallest use, its words and its limits", dir)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	set, all := sources(t)
	for _, f := range all {
		if f.Name.Name == "main" {
			continue
		}
		end := -1 // the line on which a documented function ends
		for _, decl := range f.Decls {
			missing := undocumented(decl)
			if fn, ok := decl.(*ast.FuncDecl); ok && (fn.Doc != nil || set.Position(fn.Pos()).Line == end+1) {
				missing, end = nil, set.Position(fn.End()).Line // functions without a line between them share a comment
			}
			for _, name := range missing {
				t.Errorf("%s: exported %s has no doc comment", set.Position(name.Pos()), name.Name)
			}
		}
	}
}

// undocumented lists exported names of a declaration that no comment explains:
// their own, or in a group the group's or one at the line's end.
func undocumented(decl ast.Decl) (names []*ast.Ident) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					names = append(names, s.Name)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						names = append(names, name)
					}
				}
			}
		}
	}
	return names
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// onlyCommand are the names that only cmd/mylm may use: a library that prints,
// exits or reads the environment does so behind its caller's back.
var onlyCommand = map[string][]string{
	"os":  {"Exit", "Getenv", "LookupEnv", "Stdout", "Stderr", "Stdin"},
	"fmt": {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"log": {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
}

func TestOnlyTheCommandTouchesTheProcess(t *testing.T) {
	set, all := sources(t)
	forTests := map[string]bool{} // packages that import testing serve tests only
	for _, f := range all {
		forTests[f.dir] = forTests[f.dir] || packageNames(f.File)["testing"] == "testing"
	}
	for _, f := range all {
		if strings.HasPrefix(f.path, "cmd/mylm/") || strings.HasPrefix(f.path, "scripts/") || forTests[f.dir] {
			continue
		}
		packages := packageNames(f.File)
		ast.Inspect(f.File, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if ok && slices.Contains(onlyCommand[packages[x.Name]], sel.Sel.Name) {
				t.Errorf("%s: %s.%s belongs in cmd/mylm; take a value, a function or an io.Writer instead", set.Position(sel.Pos()), x.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// TestNoChdir: the workspace is a value. Whoever changes the directory of the
// process changes what every relative path in it means.
func TestNoChdir(t *testing.T) {
	set, all := sources(t)
	for _, f := range all {
		packages := packageNames(f.File)
		ast.Inspect(f.File, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Chdir" {
				if x, ok := sel.X.(*ast.Ident); ok && packages[x.Name] == "os" {
					t.Errorf("%s: pass the directory as a value", set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// packageNames maps the names by which f knows packages to their paths.
func packageNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

// Words of the command in a string: variables and commands, and flags.
var (
	commandWords = regexp.MustCompile(`MYLM_|\bmylm (ask|agent|resume|sessions|models|config|policy|memory [a-z]+)\b`)
	flagWords    = regexp.MustCompile(`--[a-z]`)
)

// libraries are the folders whose strings have no words of the command.
var libraries = []string{"agent", "memory", "prompts", "protocol", "providers", "tools"}

// withFlags know the flags of other programs: of command lines that they look
// at, or of servers that tests start.
var withFlags = []string{"memory/redact", "providers/internal/ollamatest", "tools/command", "tools/policy", "tools/sandbox", "tools/shell"}

// TestLibrariesReportFacts keeps flags and variables out of the libraries'
// errors: a user of the library has neither. The command's advice is in
// cmd/mylm/internal/failure/failure.go.
func TestLibrariesReportFacts(t *testing.T) {
	set, all := sources(t)
	for _, f := range all {
		if top, _, _ := strings.Cut(f.path, "/"); !slices.Contains(libraries, top) || f.Name.Name == "main" {
			continue
		}
		flags := !slices.Contains(withFlags, f.dir)
		ast.Inspect(f.File, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && (commandWords.MatchString(lit.Value) || flags && flagWords.MatchString(lit.Value)) {
				t.Errorf("%s: %s names what only the command has; return the fact, and put the advice in cmd/mylm/internal/failure/failure.go", set.Position(lit.Pos()), lit.Value)
			}
			return true
		})
	}
}
