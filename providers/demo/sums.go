package demo

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

var (
	sumStart = lazy(`(?i)^(?:(?:what(?:'s| is)|calculate|compute|evaluate|how much is|work out|solve)\s+)?(.+?)\s*=?$`)
	sumShape = lazy(`\d[\s).]*[-+*/]`)
	sumChars = lazy(`^[-+*/().,\d\s]+$`)
	between  = lazy(`(\d\s*)[x×](\s*[\d(.-])`)
	inWords  = strings.NewReplacer(" plus ", " + ", " minus ", " - ", " times ", " * ", " multiplied by ", " * ",
		" divided by ", " / ", " over ", " / ", "÷", "/", "×", "*", "−", "-", "·", "*")
	thousands = lazy(`(\d),(\d{3})\b`)
)

// longestSum bounds a sum in bytes, and with it the digits of its result.
const longestSum = 1000

// matchSum gives the sum in the goal with its operators as + - * /.
func matchSum(goal string) []string {
	m := sumStart().FindStringSubmatch(goal)
	if m == nil || len(m[1]) > longestSum {
		return nil
	}
	sum := inWords.Replace(between().ReplaceAllString(m[1], "$1*$2"))
	for thousands().MatchString(sum) {
		sum = thousands().ReplaceAllString(sum, "$1$2")
	}
	if !sumChars().MatchString(sum) || !sumShape().MatchString(sum) {
		return nil
	}
	return []string{sum}
}

func tellSum(_ *turn, m []string) string {
	p := &sum{text: m[0]}
	r, err := p.all()
	if err != nil {
		return fmt.Sprintf("I cannot work out %s: %v.", m[0], err)
	}
	if digits, exact := r.FloatPrec(); exact {
		return fmt.Sprintf("%s = %s", m[0], r.FloatString(digits))
	}
	return fmt.Sprintf("%s = %s, which is about %s", m[0], r.RatString(), r.FloatString(12))
}

// sum reads and computes a sum by recursive descent, in exact fractions. Its
// depth is bounded by longestSum.
type sum struct {
	text string
	pos  int
}

var errDivision = errors.New("it divides by zero")

func (s *sum) all() (*big.Rat, error) {
	r, err := s.terms()
	if err == nil && s.peek() != 0 {
		return nil, s.unexpected()
	}
	return r, err
}

// peek returns the next character that is not a space, 0 at the end.
func (s *sum) peek() byte {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
	if s.pos == len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

func (s *sum) unexpected() error {
	if c := s.peek(); c != 0 {
		return fmt.Errorf("unexpected %q at character %d", c, s.pos+1)
	}
	return errors.New("something is missing at its end")
}

func (s *sum) terms() (*big.Rat, error) {
	r, err := s.factors()
	for err == nil && (s.peek() == '+' || s.peek() == '-') {
		minus := s.peek() == '-'
		s.pos++
		var next *big.Rat
		if next, err = s.factors(); err != nil {
			break
		}
		if minus {
			next.Neg(next)
		}
		r.Add(r, next)
	}
	return r, err
}

func (s *sum) factors() (*big.Rat, error) {
	r, err := s.factor()
	for err == nil && (s.peek() == '*' || s.peek() == '/') {
		over := s.peek() == '/'
		s.pos++
		var next *big.Rat
		if next, err = s.factor(); err != nil {
			break
		}
		if over {
			if next.Sign() == 0 {
				return nil, errDivision
			}
			next.Inv(next)
		}
		r.Mul(r, next)
	}
	return r, err
}

func (s *sum) factor() (*big.Rat, error) {
	switch c := s.peek(); {
	case c == '-' || c == '+':
		s.pos++
		r, err := s.factor()
		if err == nil && c == '-' {
			r.Neg(r)
		}
		return r, err
	case c == '(':
		s.pos++
		r, err := s.terms()
		if err == nil && s.peek() != ')' {
			return nil, errors.New("a bracket is not closed")
		}
		s.pos++
		return r, err
	}
	return s.number()
}

func (s *sum) number() (*big.Rat, error) {
	s.peek()
	start := s.pos
	for s.pos < len(s.text) && strings.IndexByte("0123456789.", s.text[s.pos]) >= 0 {
		s.pos++
	}
	digits := s.text[start:s.pos]
	if digits == "" {
		return nil, s.unexpected()
	}
	r, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, fmt.Errorf("%s is not a number", digits)
	}
	return r, nil
}
