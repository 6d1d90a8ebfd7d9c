package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mylm/tools"
)

type listInput struct {
	Path string `json:"path,omitempty" jsonschema:"relative to the workspace, the default"`
}

// ListDir makes the tool list_dir. It is an error if Root cannot be opened or
// a limit is negative. The tool may be called from several goroutines at once.
//
// One entry a line, sorted by name, hidden ones included: "cmd/", "go.mod (58
// bytes)", "latest -> v2/". At most MaxEntries are shown; a last line says how
// many there are.
func ListDir(o Options) (*tools.Tool, error) {
	t, err := reader(o, ListDirName, "List a directory: one entry a line, directories with a trailing slash, files with their size.", list)
	if err == nil {
		t.Sample = &tools.Sample{
			Question: "What is in the directory docs?", Args: json.RawMessage(`{"path":"docs"}`),
			Result: "img/\nguide.md (2104 bytes)", Answer: "docs holds the directory img and the file guide.md.",
		}
	}
	return t, err
}

type readInput struct {
	Path      string `json:"path"`
	StartLine int    `json:"start_line,omitempty" jsonschema:"first line, from 1"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"last line"`
}

// ReadFile makes the tool read_file. It is an error if Root cannot be opened or
// a limit is negative. The tool may be called from several goroutines at once.
//
// The text is shown without line numbers, so that a model can copy it. If it is
// not the whole file, a last line says which lines these are, of how many, and
// with which start_line to go on.
func ReadFile(o Options) (*tools.Tool, error) {
	return reader(o, ReadFileName, fmt.Sprintf("Read a text file, at most %d lines at once.", orDefault(o.MaxLines, DefaultMaxLines)), read)
}

type findInput struct {
	Pattern string `json:"pattern" jsonschema:"like *.go, docs/**/*.md or src/{a,b}*"`
}

// FindFiles makes the tool find_files. It is an error if Root cannot be opened
// or a limit is negative. The tool may be called from several goroutines at
// once.
//
// The pattern is a glob with ** for any directories and {a,b} for either; one
// without a slash is looked for everywhere. Files are listed by path, one a
// line, at most MaxEntries; a last line says how many there are. Files that git
// ignores are omitted, unless the pattern begins with an ignored directory.
func FindFiles(o Options) (*tools.Tool, error) {
	return reader(o, FindFilesName, "Find files by a glob, without those that .gitignore names.", find)
}

type searchInput struct {
	Pattern string `json:"pattern" jsonschema:"line by line; (?i) ignores case"`
	Path    string `json:"path,omitempty" jsonschema:"file or directory; default all"`
	Glob    string `json:"glob,omitempty" jsonschema:"only such files, like *.go"`
}

// SearchFiles makes the tool search_files. It is an error if Root cannot be
// opened or a limit is negative. The tool may be called from several goroutines
// at once.
//
// Lines that match come as "path:line: text", by path, at most MaxMatches and
// MaxBytes; a last line reports what was omitted. Binary files are not
// searched, nor what git ignores, unless path leads there.
func SearchFiles(o Options) (*tools.Tool, error) {
	return reader(o, SearchFilesName, "Search the text of files with a regular expression, without those that .gitignore names.", search)
}

type writeInput struct {
	Path          string `json:"path"`
	Content       string `json:"content"`
	CreateParents bool   `json:"create_parents,omitempty"`
}

// WriteFile makes the tool write_file. It is an error if Root cannot be opened
// or a limit is negative. The tool may be called from several goroutines at
// once.
//
// The file holds the whole content or what it held before, never a part; its
// mode stays. Its preview is a diff. What it writes over is kept by
// Options.Journal.
func WriteFile(o Options) (*tools.Tool, error) {
	return writer(o, WriteFileName, "Write a whole file, new or existing. To change a part, "+EditFileName+" is safer.", (*workspace).planWrite)
}

type editInput struct {
	Path string `json:"path"`
	Old  string `json:"old" jsonschema:"exact text, with enough around it to be unique"`
	New  string `json:"new"`
}

// EditFile makes the tool edit_file. It is an error if Root cannot be opened or
// a limit is negative. The tool may be called from several goroutines at once.
//
// Text that is not there, or there more than once, is an error that says where
// the nearest is, and changes nothing. In a file whose lines end in CRLF, the
// line ends of old and new are treated as CRLF, since read_file shows them as
// LF.
func EditFile(o Options) (*tools.Tool, error) {
	return writer(o, EditFileName, "Replace a text that occurs exactly once in a file.", (*workspace).planEdit)
}

// newTool makes a tool and the workspace that it works in.
func newTool[In any](o Options, name, description string, e tools.Effect, run func(*workspace, context.Context, In) (tools.Result, error)) (*tools.Tool, *workspace, error) {
	w, err := newWorkspace(o)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	t, err := tools.New(name, description, e, func(ctx context.Context, in In) (tools.Result, error) { return run(w, ctx, in) })
	return t, w, err
}

// reading is a call of a tool that reads.
type reading struct {
	*workspace          // what the call may read
	root       *os.Root // of it
	path       string   // what is read, as locate returns it
}

// dir is the name of the directory that is read.
func (r reading) dir() (string, error) {
	name, info, err := r.stat(r.root, r.path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file, not a directory", r.path)
	}
	return name, err
}

// reader makes a tool that reads.
func reader[In interface{ place() string }](o Options, name, description string, run func(context.Context, reading, In) (tools.Result, error)) (*tools.Tool, error) {
	t, w, err := newTool(o, name, description, tools.Reads, func(w *workspace, ctx context.Context, in In) (tools.Result, error) {
		return waitFor(ctx, in.place(), func() (tools.Result, error) {
			seen, path, err := w.allowed(ctx, in.place())
			if err != nil {
				return tools.Result{}, err
			}
			root, err := seen.open()
			if err != nil {
				return tools.Result{}, err
			}
			defer root.Close()
			result, err := run(ctx, reading{seen, root, path}, in)
			if seen.outside && result.Origin != "" {
				result.Origin = tools.Outside
			}
			return result, err
		})
	})
	if err != nil {
		return nil, err
	}
	where := func(args json.RawMessage) (real string, outside bool) {
		var in In
		_ = json.Unmarshal(args, &in) // arguments that do not fit are refused later
		path := in.place()
		ctx, cancel := context.WithTimeout(context.Background(), maxPlanTime)
		defer cancel()
		real, _ = waitFor(ctx, path, func() (string, error) {
			seen, name, err := w.locate(path)
			if err != nil || !seen.outside {
				return "", err
			}
			if followed, err := filepath.EvalSymlinks(name); err == nil {
				return followed, nil
			}
			return name, nil
		})
		return real, real != "" || ctx.Err() != nil // the call itself reports the error
	}
	t.Effect = func(args json.RawMessage) tools.Effect {
		if _, outside := where(args); outside {
			return tools.Reads | tools.Leaves
		}
		return tools.Reads
	}
	t.Preview = func(args json.RawMessage) string {
		if real, outside := where(args); outside {
			return fmt.Sprintf("%s\nreads %s, outside the workspace %s", args, printable(real), w.Root)
		}
		return string(args)
	}
	return t, nil
}

// orRoot is a path, or the workspace if there is none.
func orRoot(path string) string {
	if strings.TrimSpace(path) == "" {
		return "."
	}
	return path
}

// place is the path that a call reads.
func (in listInput) place() string   { return orRoot(in.Path) }
func (in readInput) place() string   { return orRoot(in.Path) }
func (in searchInput) place() string { return orRoot(in.Path) }
func (in findInput) place() string {
	base, _ := splitGlob(in.Pattern)
	return base
}

// writer makes a tool that changes a file. plan determines what a call would do,
// without doing it: for the effect, for the preview, and when the call runs. A
// call that cannot succeed, or changes nothing, only reads, so it needs no approval.
func writer[In any](o Options, name, description string, plan func(*workspace, context.Context, *os.Root, In) (*revision, error)) (*tools.Tool, error) {
	planned := func(ctx context.Context, w *workspace, in In) (*revision, error) {
		return waitFor(ctx, "the file system", func() (*revision, error) {
			root, err := w.open()
			if err != nil {
				return nil, err
			}
			defer root.Close()
			return plan(w, ctx, root, in)
		})
	}
	t, w, err := newTool(o, name, description, tools.Writes, func(w *workspace, ctx context.Context, in In) (tools.Result, error) {
		r, err := planned(ctx, w, in)
		if err != nil {
			return tools.Result{}, err
		}
		if r.same() {
			return tools.Result{Text: fmt.Sprintf("%s has exactly this content already; nothing was written", r.path), Origin: tools.Workspace}, nil
		}
		if !granted(ctx, tools.Writes) {
			return tools.Result{}, fmt.Errorf("%s was changed after this call was checked, and nothing was written; try again", r.path)
		}
		return w.revise(ctx, r)
	})
	if err != nil {
		return nil, err
	}
	planNow := func(args json.RawMessage) (r *revision, late bool, err error) {
		in, err := tools.Decode[In](args)
		if err != nil {
			return nil, false, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), maxPlanTime)
		defer cancel()
		r, err = planned(ctx, w, in)
		return r, ctx.Err() != nil, err
	}
	t.Effect = func(args json.RawMessage) tools.Effect {
		if args == nil {
			return tools.Writes
		}
		if r, late, err := planNow(args); err != nil && !late || err == nil && r.same() {
			return tools.Reads
		}
		return tools.Writes
	}
	t.Preview = func(args json.RawMessage) string {
		r, _, err := planNow(args)
		if err != nil {
			return fmt.Sprintf("%s\n%v", args, err)
		}
		return r.preview(t.Name)
	}
	return t, nil
}
