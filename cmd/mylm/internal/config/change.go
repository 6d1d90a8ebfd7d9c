package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"

	"mylm/cmd/mylm/internal/failure"
)

// SaveForm sets the form of calls in the entry of a model, which it makes if there is
// none: e is what it would hold. The rest of the file stays as it is, its comments and
// its layout too. It returns the path of the file.
func SaveForm(e Entry, form string) (path string, err error) {
	path, text, unlock, err := lockedText()
	if err != nil {
		return "", err
	}
	defer unlock()
	before, err := parseFile(path, text)
	if err != nil {
		return "", err
	}
	changed, held := withForm(text, e.Name, form)
	if !held {
		if _, ok := before.models[e.Name]; ok {
			return "", cannotChange(path, e, form)
		}
		if changed = strings.TrimRight(text, "\r\n"); changed != "" {
			changed += "\n\n"
		}
		changed += fmt.Sprintf("[models.%s]\nprovider = %s\nmodel = %s\nform = %s\n", tomlKey(e.Name), tomlText(e.Provider), tomlText(e.Model), tomlText(form))
	}
	if !onlyFormDiffers(text, changed, e, form) {
		return "", cannotChange(path, e, form)
	}
	if _, err := parseFile(path, changed); err != nil {
		return "", err
	}
	return path, store(path, changed, 0)
}

func cannotChange(path string, e Entry, form string) error {
	return failure.Config(fmt.Errorf("%s: the entry %s is written in a way that only a person can change", path, e.Name)).
		WithHint(fmt.Sprintf("Add form = %q to it: mylm config edit", form))
}

// withForm sets the form in the table of a model. It reports false if there is no such
// table.
func withForm(text, name, form string) (string, bool) {
	quoted := regexp.QuoteMeta(name)
	header := regexp.MustCompile(`^\s*\[\s*(models|"models"|'models')\s*\.\s*(` + quoted + `|"` + quoted + `"|'` + quoted + `')\s*\]\s*(#.*)?$`)
	key := regexp.MustCompile(`^(\s*(?:form|"form"|'form')\s*=\s*)("[^"]*"|'[^']*')(\s*(?:#.*)?)$`)
	lines := slices.Collect(strings.Lines(text))
	start := slices.IndexFunc(lines, func(l string) bool { return header.MatchString(strings.TrimRight(l, "\r\n")) })
	if start < 0 {
		return text, false
	}
	last := start // the last line of the table that holds something
	for i := start + 1; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		end := lines[i][len(line):]
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "["):
			i = len(lines)
		case key.MatchString(line):
			m := key.FindStringSubmatch(line)
			lines[i] = m[1] + tomlText(form) + m[3] + end
			return strings.Join(lines, ""), true
		case trimmed != "" && trimmed[0] != '#':
			last = i
		}
	}
	line := strings.TrimRight(lines[last], "\r\n")
	end := lines[last][len(line):]
	if end == "" { // the end of the file
		lines[last] += "\n"
	}
	indent := ""
	if last > start {
		indent = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	}
	return strings.Join(slices.Insert(lines, last+1, indent+"form = "+tomlText(form)+end), ""), true
}

// onlyFormDiffers reports whether a text of TOML became another one by setting the
// form of an entry, and by nothing else.
func onlyFormDiffers(before, after string, e Entry, form string) bool {
	var a, b map[string]any
	if _, err := toml.Decode(before, &a); err != nil {
		return false
	}
	if _, err := toml.Decode(after, &b); err != nil {
		return false
	}
	if a == nil {
		a = map[string]any{}
	}
	models, _ := a["models"].(map[string]any)
	if models == nil {
		models = map[string]any{}
		a["models"] = models
	}
	entry, _ := models[e.Name].(map[string]any)
	if entry == nil {
		entry = map[string]any{"provider": e.Provider, "model": e.Model}
		models[e.Name] = entry
	}
	entry["form"] = form
	return reflect.DeepEqual(a, b)
}

// tomlKey is a name as the key of a table.
func tomlKey(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return name
	}
	return tomlText(name)
}

// lockedText is the text of the configuration file, which no other process changes
// until unlock is called. The directory of the file is made if need be.
func lockedText() (path, text string, unlock func(), err error) {
	if path, err = Path(); err == nil {
		_, _, err = fileText() // nothing is made beside one that cannot be read
	}
	if err != nil {
		return "", "", nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", "", nil, unwritable(path, err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return "", "", nil, unwritable(path, fmt.Errorf("%s cannot be locked: %w", path, err))
	}
	if path, text, err = fileText(); err != nil {
		lock.Close()
		return "", "", nil, err
	}
	return path, text, func() { lock.Close() }, nil
}

// store replaces the configuration file, and where it is a link, the file behind it.
// mask are the permissions that it must not have.
func store(path, text string, mask os.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return failure.Config(fmt.Errorf("%s is not a file", path))
		}
		mode = info.Mode().Perm()
	}
	if err := maybe.WriteFile(path, []byte(text), mode&^mask); err != nil {
		return unwritable(path, err)
	}
	return nil
}

func unwritable(path string, err error) error {
	return failure.Config(err).WithHint("Make " + filepath.Dir(path) + " a directory that you can write to, or have MYLM_CONFIG name a file in another one.")
}
