package config

import "mylm/cmd/mylm/internal/cli"

// Flags are the flags of some settings.
func Flags(settings ...Setting) []cli.Flag {
	out := make([]cli.Flag, len(settings))
	for i, s := range settings {
		out[i] = &flagOf{Def: s.def(), setting: s}
	}
	return out
}

// flagOf is the flag of a setting.
type flagOf struct {
	*Def
	setting Setting
	typed   any // nil: it was not given
}

// Doc implements cli.Flag.
func (f *flagOf) Doc() cli.Doc {
	_, on := f.setting.(*Row[bool])
	_, list := f.setting.(*Row[[]string])
	d := cli.Doc{Names: append([]string{f.Flag}, f.Aliases...), Usage: f.Usage, Default: f.Default, Variable: f.Var, Bool: on, List: list}
	if on {
		d.Default = ""
	}
	return d
}

// Set implements cli.Flag.
func (f *flagOf) Set(text string) error {
	value, err := f.setting.parse(text)
	if err == nil && f.typed != nil {
		if _, list := f.setting.(*Row[[]string]); list {
			value = f.setting.add(f.typed, value)
		}
	}
	if err == nil {
		f.typed = value
	}
	return err
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
