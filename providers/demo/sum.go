package demo

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func answerSum(_ *turn, m []string) string {
	text := strings.TrimSpace(m[0])
	s := sum{rest: text}
	v := s.value(0)
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

// precedence of the operators; 0 for all other characters.
var precedence = [256]int{'+': 1, '-': 1, '*': 2, '/': 2}

// value computes as far as operators bind more tightly than the given level.
func (s *sum) value(level int) float64 {
	v := s.operand()
	for {
		op := s.peek()
		if s.err != nil || precedence[op] <= level {
			return v
		}
		s.rest = s.rest[1:]
		switch right := s.value(precedence[op]); op {
		case '+':
			v += right
		case '-':
			v -= right
		case '*':
			v *= right
		case '/':
			v /= right
		}
	}
}

// operand computes a number with its signs, or what is in brackets.
func (s *sum) operand() (v float64) {
	switch c := s.peek(); c {
	case '+', '-':
		s.rest = s.rest[1:]
		if v = s.operand(); c == '-' {
			v = -v
		}
		return v
	case '(':
		s.rest = s.rest[1:]
		if v = s.value(0); s.peek() != ')' && s.err == nil {
			s.err = errors.New("a bracket is not closed")
		}
		s.rest = strings.TrimPrefix(s.rest, ")")
		return v
	}
	n := strings.IndexFunc(s.rest+" ", func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	v, err := strconv.ParseFloat(s.rest[:n], 64)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("a number is missing before %q", s.rest)
	}
	s.rest = s.rest[n:]
	return v
}
