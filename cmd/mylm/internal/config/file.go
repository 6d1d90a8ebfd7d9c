package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"mylm/cmd/mylm/internal/failure"
)

// file is the content of the configuration file.
type file struct {
	layer    Layer
	profiles map[string]Layer
	models   map[string]Entry
	mcp      map[string]MCP
}

// maxFile bounds the configuration file in bytes: it may be a link to a device.
const maxFile = 8 << 20

// fileText is the text of the configuration file. A missing file is an empty
// one, unless the user has named it.
func fileText() (path, text string, err error) {
	if path, err = Path(); err != nil {
		return "", "", nil // without a home there is no configuration
	}
	named := os.Getenv("MYLM_CONFIG") != ""
	info, err := os.Stat(path)
	var b []byte
	if err == nil && info.Mode()&os.ModeNamedPipe != 0 && !named { // it would be waited for; who names one means it
		return path, "", failure.Config(fmt.Errorf("%s is a pipe, not a file", path)).WithHint("Remove it; mylm config edit makes a file")
	}
	if err == nil {
		if b, err = readAtMost(path, maxFile); errors.Is(err, errTooLong) {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	switch {
	case IsMissing(err) && !named:
		return path, "", nil
	case IsMissing(err):
		return path, "", failure.Config(fmt.Errorf("MYLM_CONFIG names %s, which does not exist", path)).
			WithHint("mylm config edit makes it; without MYLM_CONFIG the usual file is read")
	case err != nil:
		return path, "", failure.Config(err)
	}
	return path, string(b), nil
}

// Check reports what is wrong with the text of a configuration file.
func Check(path, text string) error {
	_, err := parseFile(path, text)
	return err
}

func parseFile(path, text string) (*file, error) {
	bad := func(err error) *failure.Error {
		return failure.Config(fmt.Errorf("%s: %w", path, err)).WithHint("mylm config edit opens it")
	}
	f, err := decodeFile(text)
	var unknown *unknownKey
	if errors.As(err, &unknown) && unknown.near != "" {
		return nil, bad(err).WithHint("Is " + unknown.near + " meant? mylm config edit opens the file.")
	}
	if err != nil {
		return nil, bad(err)
	}
	for _, h := range f.holders() {
		if err := checkPrivate(path, h); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.models)) {
		if err := f.models[name].Check(); err != nil {
			return nil, bad(fmt.Errorf("%s: %w", f.models[name].Where(), err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.mcp)) {
		if err := f.mcp[name].Check(); err != nil {
			return nil, bad(fmt.Errorf("%s: %w", f.mcp[name].Where(), err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.profiles)) {
		if err := checkAll(f.profiles[name].values, key); err != nil {
			return nil, bad(fmt.Errorf("profile %q: %w", name, err))
		}
	}
	if err := checkAll(f.layer.values, key); err != nil {
		return nil, bad(err)
	}
	return f, nil
}

// key is the name of a setting in the file.
func key(d *Def) string { return d.Key }

// decodeFile reads the text. Its values are of the right type, and not checked.
func decodeFile(text string) (*file, error) {
	f := &file{layer: Layer{From: Origin{Kind: File}}, profiles: map[string]Layer{}, models: map[string]Entry{}}
	var top map[string]toml.Primitive
	meta, err := toml.Decode(text, &top)
	if err != nil {
		return nil, syntaxError(err)
	}
	d := decoder{meta}
	profiles, err1 := d.tables(top, "profiles")
	models, err2 := d.tables(top, "models")
	var err3 error
	if _, named := top["mcp"]; named {
		f.mcp, err3 = d.mcpTables(top, mcpFields)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	for _, name := range []string{"profiles", "models", "mcp"} {
		delete(top, name)
	}
	if f.layer.values, err = d.settings(top, nil, true); err != nil {
		return nil, err
	}
	for name, primitive := range profiles {
		var held map[string]toml.Primitive
		if err := d.table(primitive, &held, "profiles", name); err != nil {
			return nil, err
		}
		l := Layer{From: Origin{Kind: Profile, Name: name}}
		if l.values, err = d.settings(held, []string{"profiles", name}, false); err != nil {
			return nil, err
		}
		f.profiles[name] = l
	}
	for name, primitive := range models {
		if f.models[name], err = d.entry(name, primitive); err != nil {
			return nil, err
		}
	}
	return f, nil
}

type decoder struct{ toml.MetaData }

// tables is a table of tables, such as models.
func (d decoder) tables(top map[string]toml.Primitive, name string) (held map[string]toml.Primitive, err error) {
	if primitive, ok := top[name]; ok {
		err = d.table(primitive, &held, name)
	}
	return held, err
}

// table decodes a table. The library silently ignores anything else.
func (d decoder) table(p toml.Primitive, into any, path ...string) error {
	if t := d.Type(path...); t != "" && t != "Hash" { // "" is of [models.work], which makes models a table, too
		name := strings.Join(path, ".")
		return fmt.Errorf("%s must be a table: [%s], or name = value in braces", name, name)
	}
	return typeError(d.PrimitiveDecode(p, into), "")
}

// settings decodes the settings of a table at a path. Tables in it, such as
// sandbox, hold the settings whose keys have that prefix.
func (d decoder) settings(held map[string]toml.Primitive, path []string, top bool) (values, error) {
	out := values{}
	read := func(name string, p toml.Primitive) error {
		s := keyed(name, top)
		if s == nil {
			return d.unknown(append(slices.Clone(path), name), keys(top))
		}
		v, err := s.decode(func(into any) error { return typeError(d.PrimitiveDecode(p, into), s.form()) })
		out[s.def()] = v
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		plain := keyed(name, top) != nil && d.Type(append(slices.Clone(path), name)...) != "Hash" // tools is a list, or a table
		if !isTable(name, top) || plain {
			if err := read(name, held[name]); err != nil {
				return nil, err
			}
			continue
		}
		var inner map[string]toml.Primitive
		if err := d.table(held[name], &inner, append(slices.Clone(path), name)...); err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(inner)) {
			if err := read(name+"."+key, inner[key]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// entry decodes [models.NAME].
func (d decoder) entry(name string, p toml.Primitive) (Entry, error) {
	var held map[string]toml.Primitive
	e := Entry{Name: name}
	if err := d.table(p, &held, "models", name); err != nil {
		return e, err
	}
	for key, into := range map[string]any{"headers": &e.Headers, "settings": &e.Settings} {
		if p, ok := held[key]; ok {
			if err := d.table(p, into, "models", name, key); err != nil {
				return e, err
			}
		}
	}
	if err := typeError(d.PrimitiveDecode(p, &e), ""); err != nil {
		return e, err
	}
	own, sampling := map[string]toml.Primitive{}, entryKeys()
	for key, p := range held {
		switch {
		case slices.Contains(sampling, key):
			own[key] = p
		case !slices.Contains(entryFields, key):
			return e, d.unknown([]string{"models", name, key}, append(slices.Clone(entryFields), sampling...))
		}
	}
	var err error
	e.values, err = d.settings(own, []string{"models", name}, false)
	return e, err
}

// unknownKey is a key that names no setting.
type unknownKey struct {
	key, near string
	known     []string
}

func (u *unknownKey) Error() string {
	if u.near != "" {
		return fmt.Sprintf("there is no setting %q", u.key)
	}
	return fmt.Sprintf("there is no setting %q; there are: %s", u.key, strings.Join(u.known, ", "))
}

func (d decoder) unknown(path, known []string) error {
	var names []string
	for _, name := range known {
		name = strings.Trim(name, "[]")
		table, _, _ := strings.Cut(name, ".")
		names = append(names, name, table)
	}
	return &unknownKey{key: strings.Join(path, "."), known: known, near: failure.Near(path[len(path)-1], names)}
}

// keyed is the setting with a key.
func keyed(name string, top bool) Setting {
	for _, s := range table {
		if d := s.def(); d.Key == name && (top || !d.TopOnly) {
			return s
		}
	}
	return nil
}

// keys are the keys of all settings, followed by the tables of tables.
func keys(top bool) (names []string) {
	for _, s := range table {
		if d := s.def(); d.Key != "" && (top || !d.TopOnly) {
			names = append(names, d.Key)
		}
	}
	if top {
		names = append(names, "[profiles.NAME]", "[models.NAME]", "[mcp.NAME]")
	}
	return names
}

// isTable reports whether there are settings in a table of this name.
func isTable(name string, top bool) bool {
	return slices.ContainsFunc(keys(top), func(k string) bool { return strings.HasPrefix(k, name+".") })
}

// syntaxError reports a line that cannot be read. The library's message quotes
// the line, which may hold an API key.
func syntaxError(err error) error {
	var e toml.ParseError
	if !errors.As(err, &e) {
		return err
	}
	message := strings.Replace(e.Message, " is out of range for int64", " is too large", 1)
	if strings.HasPrefix(e.LastKey, "models.") || secretName(e.LastKey) {
		message = `this cannot be read; a setting is written name = "value"`
	}
	return fmt.Errorf("line %d: %s", e.Position.Line, message)
}

const (
	formNumber = "a whole number without quotes, such as 4096"
	formText   = "text in quotes"
)

// typeError describes the form that a value should have, where the library names
// types. Without a form it is that of a field of an entry.
func typeError(err error, form string) error {
	if err == nil {
		return nil
	}
	m := regexp.MustCompile(`^toml: (?:line (\d+) )?\(last key "(.*)"\): incompatible types: .*; destination has type (\w+)$`).FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	if form == "" {
		form = formText
		if strings.HasPrefix(m[3], "int") {
			form = formNumber
		}
	}
	err = fmt.Errorf("%s must be %s", m[2], form)
	if m[1] != "" {
		err = fmt.Errorf("line %s: %w", m[1], err)
	}
	return err
}
