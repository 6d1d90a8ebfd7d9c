package main

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"unicode"
)

// sameName compares names without case and separators.
func sameName(a, b string) bool { return fold(a) == fold(b) }

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// decode reads one JSON value and keeps numbers as they were written.
func decode(s []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(s))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// sameArgs compares two JSON values as the package comment has it.
func sameArgs(a, b json.RawMessage) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && same(x, y)
}

func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return sameObject(x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return sameList(x, y)
		}
	case nil:
		return b == nil
	default:
		if s, ok := spelling(b); ok {
			t, _ := spelling(a)
			return strings.EqualFold(s, t) || sameNumber(s, t)
		}
	}
	return alone(a, b) || alone(b, a)
}

func sameObject(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !same(v, w) {
			return false
		}
	}
	return true
}

func sameList(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(a[i], b[i]) {
			return false
		}
	}
	return true
}

// alone tells that list holds only v.
func alone(list, v any) bool {
	l, ok := list.([]any)
	if _, both := v.([]any); both || !ok || len(l) != 1 {
		return false
	}
	return same(l[0], v)
}

// spelling is how a string, number, true or false is written without quotes.
func spelling(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// sameNumber compares numbers: whole ones exactly, others as the doubles that
// the gold was written from.
func sameNumber(a, b string) bool {
	if m, ok := new(big.Int).SetString(a, 10); ok {
		if n, ok := new(big.Int).SetString(b, 10); ok {
			return m.Cmp(n) == 0
		}
	}
	var x, y float64
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && x == y
}
