package cli

import (
	"errors"
	"slices"
	"strconv"
)

// Flag is a flag of a command. It holds what was typed.
type Flag interface {
	Doc() Doc
	Set(text string) error
}

// Doc is what the help says about a flag.
type Doc struct {
	Names    []string // the first is its name
	Usage    string   // `QUOTED` is what the value is called
	Default  string
	Variable string
	Bool     bool // it takes no value
	List     bool // it can be repeated
}

// The types of flags.
type (
	BoolFlag        = flag[bool]
	IntFlag         = flag[int]
	StringFlag      = flag[string]
	StringSliceFlag = flag[[]string]
)

type flag[T any] struct {
	Name        string
	Aliases     []string
	Usage       string
	Value       T      // unless it is set
	DefaultText string // what the help gives for the default instead of Value

	set bool
}

// Doc implements Flag.
func (f *flag[T]) Doc() Doc {
	d := Doc{Names: append([]string{f.Name}, f.Aliases...), Usage: f.Usage, Default: f.DefaultText}
	switch v := any(f.Value).(type) {
	case bool:
		d.Bool = true
	case []string:
		d.List = true
	case int:
		if v != 0 && d.Default == "" {
			d.Default = strconv.Itoa(v)
		}
	case string:
		if v != "" && d.Default == "" {
			d.Default = strconv.Quote(v)
		}
	}
	return d
}

// Set implements Flag.
func (f *flag[T]) Set(text string) error {
	var err error
	switch v := any(&f.Value).(type) {
	case *bool:
		if *v, err = strconv.ParseBool(text); err != nil {
			return errors.New("it is neither true nor false")
		}
	case *int:
		if *v, err = strconv.Atoi(text); err != nil {
			return errors.New("it is no whole number")
		}
	case *string:
		*v = text
	case *[]string:
		*v = append(*v, text)
	}
	f.set = true
	return nil
}

// flag is the flag of a name; nil if there is none.
func (c *Context) flag(name string) Flag {
	for _, f := range c.Command.Flags {
		if slices.Contains(f.Doc().Names, name) {
			return f
		}
	}
	return nil
}

// value is what a flag of the command holds; nothing if there is no such flag.
func value[T any](c *Context, name string) (v T, set bool) {
	if f, ok := c.flag(name).(*flag[T]); ok {
		return f.Value, f.set
	}
	return v, false
}

// Bool is the value of a flag.
func (c *Context) Bool(name string) bool { v, _ := value[bool](c, name); return v }

// Int is the value of a flag.
func (c *Context) Int(name string) int { v, _ := value[int](c, name); return v }

// String is the value of a flag.
func (c *Context) String(name string) string { v, _ := value[string](c, name); return v }

// StringSlice is the value of a flag.
func (c *Context) StringSlice(name string) []string { v, _ := value[[]string](c, name); return v }

// IsSet reports whether a flag was typed.
func (c *Context) IsSet(name string) bool {
	_, text := value[string](c, name)
	_, number := value[int](c, name)
	_, on := value[bool](c, name)
	_, list := value[[]string](c, name)
	return text || number || on || list
}
