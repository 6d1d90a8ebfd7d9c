package prompts

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// function is one that a template can call with at least so many arguments,
// and with at most so many.
type function struct {
	least, most int
	call        func(args []any) (any, error)
}

const anyNumber = math.MaxInt

// functions are of type function; the parser wants a map of any.
var functions = map[string]any{
	"and": function{1, anyNumber, last}, "or": function{1, anyNumber, last}, // command stops at the argument that decides
	"not":   function{1, 1, func(args []any) (any, error) { return !truth(args[0]), nil }},
	"len":   function{1, 1, length},
	"print": function{0, anyNumber, func(args []any) (any, error) { return fmt.Sprint(args...), nil }},
	"printf": function{1, anyNumber, func(args []any) (any, error) {
		format, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("the format is %T, not string", args[0])
		}
		return fmt.Sprintf(format, args[1:]...), nil
	}},
	"eq": function{2, anyNumber, func(args []any) (any, error) {
		for _, other := range args[1:] {
			if same, err := equal(args[0], other); same || err != nil {
				return same, err
			}
		}
		return false, nil
	}},
	"ne": function{2, 2, func(args []any) (any, error) {
		same, err := equal(args[0], args[1])
		return !same, err
	}},
	"lt": function{2, 2, func(args []any) (any, error) { return ordered(args, -1) }},
	"le": function{2, 2, func(args []any) (any, error) { return ordered(args, -1, 0) }},
	"gt": function{2, 2, func(args []any) (any, error) { return ordered(args, 1) }},
	"ge": function{2, 2, func(args []any) (any, error) { return ordered(args, 0, 1) }},
}

func last(args []any) (any, error) { return args[len(args)-1], nil }

func length(args []any) (any, error) {
	v := reflect.ValueOf(args[0])
	if v.Kind() != reflect.Slice && v.Kind() != reflect.String {
		return nil, fmt.Errorf("%T has no length", args[0])
	}
	return v.Len(), nil
}

// equal compares values of one kind, or any value with nil.
func equal(a, b any) (bool, error) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case x.IsValid() && y.IsValid() && x.Kind() != y.Kind():
		return false, fmt.Errorf("cannot compare %T with %T", a, b)
	case isNil(x) || isNil(y):
		return isNil(x) == isNil(y), nil
	case !y.Type().Comparable():
		return false, fmt.Errorf("%T cannot be compared", b)
	}
	return a == b, nil
}

// ordered compares two numbers of one type or two texts, and reports whether their
// order is one of those.
func ordered(args []any, orders ...int) (any, error) {
	order, ok := 0, false
	switch a := args[0].(type) {
	case int:
		var b int
		b, ok = args[1].(int)
		order = cmp.Compare(a, b)
	case float64:
		var b float64
		b, ok = args[1].(float64)
		order = cmp.Compare(a, b)
	case string:
		var b string
		b, ok = args[1].(string)
		order = cmp.Compare(a, b)
	}
	if !ok {
		return nil, fmt.Errorf("cannot order %T and %T", args[0], args[1])
	}
	return slices.Contains(orders, order), nil
}

// arguments says how many a function needs.
func (f function) arguments() string {
	text := fmt.Sprintf("%d argument", f.least)
	if f.least != 1 {
		text += "s"
	}
	if f.most != f.least {
		text = "at least " + text
	}
	return text
}
