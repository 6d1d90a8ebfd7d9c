package config

import "fmt"

// Held are the values of some settings as texts, by the name of their flag, without
// those that nothing sets. Restore makes a layer of them again.
func Held(s Settings, of ...Setting) map[string]string {
	held := map[string]string{}
	for _, row := range of {
		if v := row.held(s); v != nil {
			held[row.def().Flag] = fmt.Sprint(v)
		}
	}
	return held
}

// Restore is the layer of what Held returned, in which settings that nothing set are
// not set below, either. What is no longer a setting is an error.
func Restore(held map[string]string, of ...Setting) (Layer, error) {
	l := Layer{values: values{}}
	for _, row := range of {
		l.values[row.def()] = nil
	}
	for name, text := range held {
		i := indexOfFlag(of, name)
		if i < 0 {
			return l, fmt.Errorf("there is no setting --%s", name)
		}
		v, err := of[i].parse(text)
		if err == nil {
			err = of[i].check(v)
		}
		if err != nil {
			return l, fmt.Errorf("--%s is %q; %w", name, text, err)
		}
		l.values[of[i].def()] = v
	}
	return l, nil
}

func indexOfFlag(of []Setting, name string) int {
	for i, s := range of {
		if s.def().Flag == name {
			return i
		}
	}
	return -1
}
