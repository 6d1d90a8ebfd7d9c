package demo

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func tellSum(_ *turn, m []string) string {
	text := strings.TrimSpace(m[0])
	s := sum{rest: text}
	v := s.terms()
	switch {
	case s.err == nil && s.peek() != 0:
		s.err = fmt.Errorf("unexpected %q", s.rest)
	case s.err == nil && (math.IsInf(v, 0) || math.IsNaN(v)):
		s.err = errors.New("it divides by zero")
	}
	if s.err != nil {
		return fmt.Sprintf("I cannot work out %s: %v.", text, s.err)
	}
	return text + " = " + strconv.FormatFloat(v, 'g', 12, 64)
}

// sum reads and computes by recursive descent. longestGoal bounds its depth.
type sum struct {
	rest string
	err  error
}

// peek returns the next character that is not a space, 0 at the end.
func (s *sum) peek() byte {
	if s.rest = strings.TrimLeft(s.rest, " "); s.rest == "" {
		return 0
	}
	return s.rest[0]
}

// takes reports whether one of the characters follows, and skips it.
func (s *sum) takes(chars string) (byte, bool) {
	c := s.peek()
	if c == 0 || s.err != nil || strings.IndexByte(chars, c) < 0 {
		return 0, false
	}
	s.rest = s.rest[1:]
	return c, true
}

func (s *sum) terms() float64 {
	v := s.factors()
	for c, ok := s.takes("+-"); ok; c, ok = s.takes("+-") {
		if next := s.factors(); c == '-' {
			v -= next
		} else {
			v += next
		}
	}
	return v
}

func (s *sum) factors() float64 {
	v := s.factor()
	for c, ok := s.takes("*/"); ok; c, ok = s.takes("*/") {
		if next := s.factor(); c == '/' {
			v /= next
		} else {
			v *= next
		}
	}
	return v
}

func (s *sum) factor() float64 {
	if c, ok := s.takes("+-"); ok {
		if v := s.factor(); c == '-' {
			return -v
		} else {
			return v
		}
	}
	if _, ok := s.takes("("); ok {
		v := s.terms()
		if _, ok := s.takes(")"); !ok && s.err == nil {
			s.err = errors.New("a bracket is not closed")
		}
		return v
	}
	s.peek()
	n := strings.IndexFunc(s.rest+" ", func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	v, err := strconv.ParseFloat(s.rest[:n], 64)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("a number is missing before %q", s.rest)
	}
	s.rest = s.rest[n:]
	return v
}
