package main_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is what a document links to, and what can be linked to in it.
type page struct{ links, anchors []string }

func readPage(t *testing.T, name string) page {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var p page
	markdown := parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...)) // whatever of GitHub's is missing makes neither links nor headings
	err = ast.Walk(markdown.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			p.links = append(p.links, string(n.Destination))
		case *ast.Image:
			p.links = append(p.links, string(n.Destination))
		case *ast.Heading:
			p.anchors = append(p.anchors, anchor(plain(n, source)))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// plain is the text of a node without its mark-up.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		} else {
			b.WriteString(plain(c, source))
		}
	}
	return b.String()
}

// anchor is how GitHub and its like name a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// TestLinks checks every relative link of the documents: its file is in the
// project, and has the heading that it names. Every document of docs/ can be
// reached from README.md.
func TestLinks(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	err = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "dist"}, d.Name())):
			return filepath.SkipDir
		case strings.HasSuffix(p, ".md"):
			names = append(names, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]page{}
	for _, name := range names {
		pages[name] = readPage(t, name)
	}
	targets := map[string][]string{}
	for name, p := range pages {
		for _, link := range p.links {
			u, err := url.Parse(link)
			if err != nil || u.Scheme != "" || u.Host != "" {
				if err != nil || u.Scheme != "https" {
					t.Errorf("%s: %q is no address: %v", name, link, err)
				}
				continue
			}
			target := name
			if u.Path != "" {
				target = filepath.Join(filepath.Dir(name), filepath.FromSlash(u.Path))
			}
			targets[name] = append(targets[name], target)
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", name, link)
			} else if u.Fragment != "" && !slices.Contains(pages[target].anchors, u.Fragment) {
				t.Errorf("%s links to %s, but the headings there are %q", name, link, pages[target].anchors)
			}
		}
	}

	docs := filepath.Join(root, "docs")
	seen, next := map[string]bool{}, []string{filepath.Join(root, "README.md")}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if !seen[name] {
			seen[name] = true
			next = append(next, targets[name]...)
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, docs) && !seen[name] {
			t.Errorf("no link from README.md leads to %s", name)
		}
	}
}

// What README shows of the demo is what it answers: each question that README asks
// it gets an answer, not the list of what it understands.
func TestQuestionsOfREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	mylm, err := exec.LookPath("mylm")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(readme), "The demo answers")
	if !ok {
		t.Fatal("README.md does not say what the demo answers")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	asked := regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(table, -1)
	if len(asked) < 5 {
		t.Fatalf("README.md names %d questions: %q", len(asked), table)
	}
	home := t.TempDir()
	for _, m := range asked {
		question := strings.Join(strings.Fields(m[1]), " ")
		cmd := exec.Command(mylm, "ask", "-m", "demo", "--raw", question)
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "CI=1")
		out, err := cmd.Output()
		if err != nil || strings.Contains(string(out), "not a language model") || len(out) == 0 {
			t.Errorf("%q: %v\n%s", question, err, out)
		}
	}
}
