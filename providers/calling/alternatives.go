package calling

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// alternatives counts the schemas that the check of one value looks at: those that
// a schema holds or refers to for the same value. Libraries follow them without a
// bound, and a circle of them overflows the stack.
type alternatives struct {
	root  any
	known map[string]int // by reference; 0: it is being counted
}

// each counts for every schema in v.
func (a *alternatives) each(v any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("the schema is nested more than %d deep", maxSchemaDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		if _, err := a.count(v); err != nil {
			return err
		}
		for _, in := range v {
			if err := a.each(in, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, in := range v {
			if err := a.each(in, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// count is how many schemas are looked at for one value of v.
func (a *alternatives) count(v any) (n int, err error) {
	s, ok := v.(map[string]any)
	if !ok {
		return 1, nil
	}
	n = 1
	add := func(v any) {
		if err == nil {
			var more int
			more, err = a.count(v)
			n += more
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, v := range list {
			add(v)
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if v, ok := s[key]; ok {
			add(v)
		}
	}
	if of, ok := s["dependentSchemas"].(map[string]any); ok {
		for _, v := range of {
			add(v)
		}
	}
	for _, key := range []string{"$ref", "$dynamicRef"} {
		if ref, ok := s[key].(string); ok && err == nil {
			var more int
			more, err = a.follow(ref)
			n += more
		}
	}
	if err == nil && n > maxAlternatives {
		err = errors.New("the schema has too many alternatives: checking a value would take too long")
	}
	return n, err
}

func (a *alternatives) follow(ref string) (int, error) {
	n, known := a.known[ref]
	switch {
	case known && n == 0:
		return 0, fmt.Errorf("the schema leads back to itself by %q", ref)
	case known:
		return n, nil
	}
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return 0, fmt.Errorf("the reference %q is not one to a place in the schema, such as #/$defs/name", ref)
	}
	target := a.root
	for _, step := range strings.Split(path, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch at := target.(type) {
		case map[string]any:
			target = at[step]
		case []any:
			target = nil
			if i, err := strconv.Atoi(step); err == nil && 0 <= i && i < len(at) {
				target = at[i]
			}
		}
	}
	if target == nil {
		return 0, fmt.Errorf("the reference %q leads nowhere", ref)
	}
	a.known[ref] = 0
	n, err := a.count(target)
	a.known[ref] = n
	return n, err
}
