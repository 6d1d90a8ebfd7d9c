package config

import (
	"flag"

	"github.com/urfave/cli/v2"
)

// Flags are the flags of some settings.
func Flags(settings ...Setting) []cli.Flag {
	out := make([]cli.Flag, len(settings))
	for i, s := range settings {
		out[i] = &flagOf{Def: s.def(), setting: s}
	}
	return out
}

// flagOf is the flag of a setting. It holds what was typed, so that nothing else
// can be taken for it: the library's own flags mix their variables in.
type flagOf struct {
	*Def
	setting Setting
	typed   any // nil: it was not given
}

// Apply implements cli.Flag.
func (f *flagOf) Apply(set *flag.FlagSet) error {
	for _, name := range f.Names() {
		set.Var(typedValue{f}, name, f.Usage)
	}
	return nil
}

// Names implements cli.Flag.
func (f *flagOf) Names() []string { return append([]string{f.Flag}, f.Aliases...) }

// IsSet implements cli.Flag.
func (f *flagOf) IsSet() bool { return f.typed != nil }

// String implements cli.Flag: it is the line of the help.
func (f *flagOf) String() string { return cli.FlagStringer(f) }

// TakesValue implements cli.DocGenerationFlag.
func (f *flagOf) TakesValue() bool { return !typedValue{f}.IsBoolFlag() }

// GetUsage implements cli.DocGenerationFlag.
func (f *flagOf) GetUsage() string { return f.Usage }

// GetValue implements cli.DocGenerationFlag.
func (f *flagOf) GetValue() string { return "" }

// GetDefaultText implements cli.DocGenerationFlag.
func (f *flagOf) GetDefaultText() string {
	if !f.TakesValue() {
		return ""
	}
	return f.Default
}

// GetEnvVars implements cli.DocGenerationFlag: the help shows them.
func (f *flagOf) GetEnvVars() []string {
	if f.Var == "" {
		return nil
	}
	return []string{f.Var}
}

// IsVisible implements cli.VisibleFlag.
func (f *flagOf) IsVisible() bool { return true }

// IsSliceFlag implements cli.DocGenerationSliceFlag.
func (f *flagOf) IsSliceFlag() bool { _, list := f.setting.(*Row[[]string]); return list }

// typedValue takes what is typed for a flag.
type typedValue struct{ *flagOf }

// again is what the library sets the other names of a flag to.
const again = "\x00again"

// Serialize makes the library set the other names of the flag to again.
func (typedValue) Serialize() string { return again }

// IsBoolFlag makes --flag alone mean --flag=true.
func (v typedValue) IsBoolFlag() bool {
	if v.flagOf == nil {
		return false
	}
	_, on := v.setting.(*Row[bool])
	return on
}

// String implements flag.Value.
func (v typedValue) String() string { return "" }

// Set implements flag.Value.
func (v typedValue) Set(text string) error {
	if text == again {
		return nil
	}
	value, err := v.setting.parse(text)
	switch {
	case err != nil:
		return err
	case v.typed != nil && v.IsSliceFlag():
		value = v.setting.add(v.typed, value)
	}
	v.typed = value
	return nil
}

// typedFlags is the layer of what was typed.
func typedFlags(flags []cli.Flag) (Layer, error) {
	l := Layer{From: Origin{Kind: Flag}, values: values{}}
	for _, f := range flags {
		if f, ok := f.(*flagOf); ok && f.typed != nil {
			l.values[f.Def] = f.typed
		}
	}
	err := checkAll(l.values, func(d *Def) string { return "--" + d.Flag })
	return l, err
}

// variables is the layer of the variables. An empty one is none.
func variables(getenv func(string) string) (Layer, error) {
	l := Layer{From: Origin{Kind: Variable}, values: values{}}
	for _, s := range table {
		d := s.def()
		text := ""
		if d.Var != "" {
			text = getenv(d.Var)
		}
		if text == "" {
			continue
		}
		v, err := s.parse(text)
		if err != nil {
			return l, badVariable(d.Var, text, err)
		}
		l.values[d] = v
	}
	err := checkAll(l.values, func(d *Def) string { return d.Var })
	return l, err
}
