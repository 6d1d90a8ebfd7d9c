package config

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

// Config is the result of merging all settings.
type Config struct {
	Settings Settings
	Models   map[string]Entry
	MCP      map[string]MCP // servers of the user

	ProjectMCP map[string]MCP // servers that the project names, once its file is applied
	Workspace  string         // absolute
	Project    string         // the project of the workspace

	Platform string // the system it is about; "" is this one

	asked    values         // the values of the project's file, once applied
	askedMCP map[string]MCP // the servers that it names

	above, below Settings // what overrides the entry of a model, and what it overrides
}

// settingsFor are the settings with the entry of a model.
func (c *Config) settingsFor(model string) Settings {
	if e, ok := EntryFor(c.Models, model); ok {
		return slices.Concat(c.above, Settings{e.Layer()}, c.below)
	}
	return slices.Concat(c.above, c.below)
}

// For is the configuration for a model that neither a flag nor a setting names.
func (c *Config) For(model string) *Config {
	other := *c
	other.Settings = append(Settings{ModelName.In(Layer{}, model)}, c.settingsFor(model)...)
	return &other
}

// Resumed holds the settings that a resumed session has recorded.
type Resumed struct {
	ID        string
	Overrides Layer // overrides a profile, unless that is named by a flag
	Fallbacks Layer // counts where nothing else does
	Fixed     Layer // comes before flags and variables
}

// Source is where settings come from beside variables and files.
type Source struct {
	Flags   []cli.Flag // of the command that was asked for
	Chosen  Layer      // chosen since, such as by /model in a conversation; each counts as if its flag had been given last
	Resumed *Resumed   // the session that is resumed; nil: none
}

// Load merges the layers of settings: a flag counts before a variable, a profile and a
// file.
func Load(ctx context.Context, from Source) (*Config, error) {
	typed, resumed := typedFlags(from.Flags), from.Resumed
	maps.Copy(typed.values, from.Chosen.values)
	typed, err := confirmed(typed)
	if err != nil {
		return nil, err
	}
	env, err := variables()
	if err != nil {
		return nil, failure.Usage("%w", err)
	}
	f, err := term.Wait(ctx, func() (*file, error) {
		path, text, err := fileText()
		if err != nil {
			return nil, err
		}
		return parseFile(path, text)
	})
	if err != nil {
		return nil, err
	}
	s := Settings{typed, env}
	_, profileTyped := ProfileName.Lookup(s)
	var session []Layer
	if resumed != nil {
		session = []Layer{resumed.Overrides}
		session[0].From = Origin{Session, resumed.ID}
		if resumed.Fixed.Holds() {
			s = slices.Concat(Settings{resumed.Fixed}, s)
			s[0].From = session[0].From
		}
	}
	if !profileTyped {
		s = append(s, session...)
	}
	if name := ProfileName.Of(s); name != "" {
		p, err := f.profile(name)
		if err != nil {
			return nil, err
		}
		s = append(s, p)
	}
	if profileTyped {
		s = append(s, session...)
	}
	below := Settings{f.layer}
	if host := os.Getenv("OLLAMA_HOST"); host != "" {
		below = append(below, Host.In(Layer{From: Origin{Kind: OllamaHost}}, host))
	}
	_, hostTyped := Host.Lookup(Settings{typed})
	if name := LastModelUsed(); name != "" && (!hostTyped || ofOllama(f.models, name)) {
		below = append(below, ModelName.In(Layer{From: Origin{Kind: LastModel}}, name))
	}
	if resumed != nil {
		last := resumed.Fallbacks
		last.From = Origin{Session, resumed.ID}
		below = append(below, last)
	}
	c := &Config{Models: f.models, MCP: f.mcp, above: s, below: below}
	c.Settings = c.settingsFor(ModelName.Of(slices.Concat(s, below)))
	if c.Workspace, err = workspace(c.Settings); err != nil {
		return nil, err
	}
	c.Project = ProjectOf(c.Workspace)
	return c, nil
}

// confirmed turns --yes into the --confirm that it means.
func confirmed(typed Layer) (Layer, error) {
	s := Settings{typed}
	if !Yes.Of(s) {
		return typed, nil
	}
	if mode, ok := Confirm.Lookup(s); ok && mode != "yolo" {
		return typed, failure.Usage("--yes and --confirm %s contradict each other", mode).WithHint("--yes is --confirm yolo")
	}
	return Confirm.In(typed, "yolo"), nil
}

// profile is the layer of a profile.
func (f *file) profile(name string) (Layer, error) {
	if l, ok := f.profiles[name]; ok {
		return l, nil
	}
	missing := failure.Config(fmt.Errorf("there is no profile %q in the configuration", term.Echoed(name)))
	if names := slices.Sorted(maps.Keys(f.profiles)); len(names) > 0 {
		return Layer{}, missing.WithHint(failure.Suggest(name, names) + "There are: " + strings.Join(names, ", "))
	}
	return Layer{}, missing.WithHint("It has none. A profile is a table [profiles." + term.Echoed(name) + "]: mylm config edit")
}

// Profiles are the names of the profiles in the configuration.
func Profiles(ctx context.Context) ([]string, error) {
	return term.Wait(ctx, func() ([]string, error) {
		path, text, err := fileText()
		if err != nil {
			return nil, err
		}
		f, err := parseFile(path, text)
		if err != nil {
			return nil, err
		}
		return slices.Sorted(maps.Keys(f.profiles)), nil
	})
}

// Flags are the flags of some settings.
func Flags(settings ...Setting) []cli.Flag {
	out := make([]cli.Flag, len(settings))
	for i, s := range settings {
		d := s.def()
		f := &flagOf{setting: s}
		f.GenericFlag = &cli.GenericFlag{Name: d.Flag, Aliases: d.Aliases, Usage: d.Usage, DefaultText: d.Default, Category: d.Group, Value: typedValue{f}}
		if d.Var != "" {
			f.EnvVars = []string{d.Var} // for the help
		}
		out[i] = f
	}
	return out
}

// FlagOf is the flag of a setting, for a command where it has another default, in words.
func FlagOf(s Setting, byDefault string) cli.Flag {
	f := Flags(s)[0].(*flagOf)
	f.DefaultText = byDefault
	return f
}

// flagOf is the flag of a setting.
type flagOf struct {
	*cli.GenericFlag
	setting Setting
	typed   any // nil: it was not given
}

// Apply implements cli.Flag. The variable is another layer.
func (f *flagOf) Apply(set *flag.FlagSet) error {
	set.Var(f.Value, f.Name, f.Usage)
	return nil
}

// IsSet implements cli.Flag.
func (f *flagOf) IsSet() bool { return f.typed != nil }

// TakesValue implements cli.DocGenerationFlag.
func (f *flagOf) TakesValue() bool { _, on := f.setting.(*Row[bool]); return !on }

// IsSliceFlag implements cli.DocGenerationSliceFlag.
func (f *flagOf) IsSliceFlag() bool { _, list := f.setting.(*Row[[]string]); return list }

// Words implements cmdline.Worded.
func (f *flagOf) Words() []string { return f.setting.def().Words }

// typedValue takes what is typed for a flag.
type typedValue struct{ *flagOf }

// String implements flag.Value.
func (typedValue) String() string { return "" }

// Set implements flag.Value.
func (v typedValue) Set(text string) error {
	value, err := v.setting.parse(text)
	if err == nil {
		err = v.setting.check(value)
	}
	if err != nil {
		return err
	}
	if v.typed != nil && v.IsSliceFlag() {
		value = v.setting.add(v.typed, value)
	}
	v.typed = value
	return nil
}

// typedFlags is the layer of what was typed.
func typedFlags(flags []cli.Flag) Layer {
	l := Layer{From: Origin{Kind: Flag}, values: values{}}
	for _, f := range flags {
		if f, ok := f.(*flagOf); ok && f.typed != nil {
			l.values[f.setting.def()] = f.typed
		}
	}
	return l
}

// variables is the layer of the variables. An empty one counts as unset.
func variables() (Layer, error) {
	l := Layer{From: Origin{Kind: Variable}, values: values{}}
	for _, s := range table {
		d := s.def()
		text := os.Getenv(d.Var)
		if text == "" {
			continue
		}
		v, err := s.parse(text)
		if err != nil {
			return l, fmt.Errorf("%s is %s; %w", d.Var, term.Quoted(text), err)
		}
		l.values[d] = v
	}
	err := checkAll(l.values, func(d *Def) string { return d.Var })
	return l, err
}
