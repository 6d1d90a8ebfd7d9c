package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func (c *Check) empty() bool {
	return c == nil || c.Answer == nil && c.JSON == nil && len(c.State) == 0 && len(c.Files) == 0
}

func (c *Check) prepare() error {
	if c == nil {
		return nil
	}
	for path := range c.Files {
		if err := filePath(path); err != nil {
			return err
		}
	}
	all := slices.Collect(maps.Values(c.Files))
	for _, w := range append(all, c.Answer) {
		if w == nil {
			continue
		}
		if _, err := regexp.Compile(w.Match); err != nil {
			return fmt.Errorf("match: %w", err)
		}
		if _, err := regexp.Compile(w.NotMatch); err != nil {
			return fmt.Errorf("not_match: %w", err)
		}
	}
	return checkPatterns([]any{c.JSON, slices.Collect(maps.Values(c.State))})
}

// run returns what is not as it must be; nil if all is.
func (c *Check) run(e End) error {
	if c.Answer != nil {
		if err := c.Answer.check(e.Answer, true); err != nil {
			return fmt.Errorf("the answer %w", err)
		}
	}
	if c.JSON != nil {
		got, err := parseJSON(e.Answer)
		if err != nil {
			return errors.New("the answer is not one JSON value")
		}
		if want := plainValue(c.JSON); !agrees(want, got) {
			return fmt.Errorf("the answer is %s, not %s", brief(asText(got)), brief(asText(want)))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.State)) {
		want := plainValue(c.State[path])
		got, ok := lookup(e.State, path)
		switch {
		case want == nil && ok:
			return fmt.Errorf("%s is %s in the end; there should be none", path, short(asText(got)))
		case want != nil && !ok:
			return fmt.Errorf("nothing is in %s in the end", path)
		case !agrees(want, got):
			return fmt.Errorf("%s is %s in the end, not %s", path, brief(asText(got)), brief(asText(want)))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		if err := checkFile(filepath.Join(e.Dir, path), c.Files[path]); err != nil {
			return fmt.Errorf("the file %s %w", path, err)
		}
	}
	return nil
}

// found reports whether any of the signs in c is there. A null stands for anything.
func (c *Check) found(e End) bool {
	if c == nil {
		return false
	}
	if c.Answer != nil && c.Answer.check(e.Answer, true) == nil {
		return true
	}
	if c.JSON != nil && (&Check{JSON: c.JSON}).run(e) == nil {
		return true
	}
	for path, want := range c.State {
		if got, ok := lookup(e.State, path); ok && (want == nil || agrees(plainValue(want), got)) {
			return true
		}
	}
	for path, words := range c.Files {
		if (checkFile(filepath.Join(e.Dir, path), words) == nil) == (words != nil) {
			return true
		}
	}
	return false
}

func checkFile(path string, w *Words) error {
	text, err := os.ReadFile(path)
	switch {
	case w == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case w == nil:
		return errors.New("is there in the end; it should not be")
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("does not exist in the end")
	case err != nil:
		return fmt.Errorf("cannot be read: %w", err)
	}
	return w.check(string(text), false)
}

// check returns what does not hold for a text. In an answer, what is denied is not said, and
// nothing that has to be said is one of two things.
func (w *Words) check(text string, answer bool) error {
	in := plainText(text)
	holds := func(part string) bool { return holdsPart(in, part, answer, answer) }
	for _, part := range w.All {
		if !holds(part) {
			return fmt.Errorf("lacks %q: %s", part, short(text))
		}
	}
	if len(w.Any) > 0 && !slices.ContainsFunc(w.Any, holds) {
		return fmt.Errorf("has none of %q: %s", w.Any, short(text))
	}
	for _, part := range w.None {
		if holdsPart(in, part, answer, false) {
			return fmt.Errorf("has %q: %s", part, short(text))
		}
	}
	if w.Is != nil && strings.TrimRight(text, " \t\r\n") != strings.TrimRight(*w.Is, " \t\r\n") {
		return fmt.Errorf("is %s, not %s", brief(text), brief(*w.Is))
	}
	if w.Match != "" && !regexp.MustCompile(w.Match).MatchString(text) { // prepare has compiled it
		return fmt.Errorf("is %s, which does not match %s", brief(text), brief(w.Match))
	}
	if w.NotMatch != "" {
		if at := regexp.MustCompile(w.NotMatch).FindStringIndex(text); at != nil {
			return fmt.Errorf("has %q, which not_match excludes: %s", brief(text[at[0]:at[1]]), brief(text))
		}
	}
	if n := len(strings.Fields(text)); w.Most > 0 && n > w.Most {
		return fmt.Errorf("has %d words; %d are allowed", n, w.Most)
	}
	return nil
}

// reading is what it takes to find a part in a text. Few commands need it.
var reading = sync.OnceValue(func() (r struct{ thousands, numeral, threes, notBefore, group, notAfter, denied, contrast, deniedAfter, orBefore, orAfter *regexp.Regexp }) {
	r.thousands = regexp.MustCompile("(\\d)[,'’\u00a0\u202f](\\d{3})\\b")
	r.numeral = regexp.MustCompile(`^\d+(\\\.\d+)?$`) // as an expression
	r.threes = regexp.MustCompile(`^(\d{3})+(\D|$)`)

	// What stands before or after a number that is only a part of another one, below zero,
	// one of two, of a size of its own, or denied.
	r.notBefore = regexp.MustCompile(`\d[.,'-]?$|(^|[^\pL\d)])-[$€£¥]?$|(^| )[.,]$|(^|\PL)(minus|negative|between|menos|moins|минус) $|(マイナス|氷点下)$`)
	r.group = regexp.MustCompile(`(^|[^\d.,-])\d{1,3} $`)
	r.notAfter = regexp.MustCompile(`^(\d|[.,']\d{3}|[.,']\d*[1-9]|-\d| \d{3}(\D|$)| ?(%|thousand|million|billion)| (\pL+ )?(or|to|oder|bis|ou|o|или) \d| ?(°c?|degrees|grad|grados|градус\pL*)?( celsius)? (below|unter|bajo|ниже)| (is|was|are|were|do|does|did)(n't| not) (the|her|his|its|it|right|correct|true|place))`)

	// What stands before or after something in an answer that does not say it.
	r.denied = regexp.MustCompile(`(n't|(^|\PL)(not|never|neither|nor|than|without|unlike|(all|anything) but|instead of|nicht|не))` +
		`( [^ .,;:!?—→-][^ .,;:!?—→]*){0,3} ["'($]*$` +
		`|(^|\PL)(no|keine?|no (hay|quedan|tenemos)) ["'($]*$`)
	r.contrast = regexp.MustCompile(`(n.t|nicht|не)( .*)? (but|before|until|till|only|just|sondern|sino|mais|но) `)
	r.orBefore = regexp.MustCompile(`(^|\PL)(or|oder|o|или) ["'($]*$`)
	r.orAfter = regexp.MustCompile(`^["')$]* (or|oder|ou|или) `)
	r.deniedAfter = regexp.MustCompile(`^[^。、\n]{0,6}(では|じゃ)(ありません|ない)`)
	return r
})

var (
	markup    = strings.NewReplacer("*", "", "`", "", "_", "", "\\", "", "{,}", ",", "’", "'", "‘", "'", "“", `"`, "”", `"`, "‐", "-", "–", "-", "−", "-")
	fractions = strings.NewReplacer(" ½", ".5", "½", ".5", " ¼", ".25", "¼", ".25", " ¾", ".75", "¾", ".75")
)

// plainText is a text without what makes no difference to what it says.
func plainText(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(markup.Replace(norm.NFKC.String(fractions.Replace(s)))), " "))
}

// nearby is how many bytes before and after a part decide whether it is found: with all
// of them, a long text with many numbers would take minutes.
const nearby = 100

// holdsPart finds a part in a plain text, a number only as a whole, however its digits
// are grouped and its fraction is separated. In an answer what is denied does not count; if
// alone is set, nor does one of two things.
func holdsPart(in, part string, answer, alone bool) bool {
	read := reading()
	for read.thousands.MatchString(part) {
		part = read.thousands.ReplaceAllString(part, "$1$2")
	}
	if part = plainText(part); part == "" {
		return true
	}
	first, _ := utf8.DecodeRuneInString(part)
	last, _ := utf8.DecodeLastRuneInString(part)
	words := strings.Split(regexp.QuoteMeta(part), " ")
	for i, word := range words {
		if read.numeral.MatchString(word) {
			words[i] = anyNumeral(word)
		}
	}
	find := regexp.MustCompile(strings.Join(words, " "))
	for at := 0; ; {
		m := find.FindStringIndex(in[at:])
		if m == nil {
			return false
		}
		before, after := in[max(0, at+m[0]-nearby):at+m[0]], in[at+m[1]:min(len(in), at+m[1]+nearby)]
		_, size := utf8.DecodeRuneInString(in[at+m[0]:])
		at += m[0] + size
		switch {
		case unicode.IsDigit(first) && (read.notBefore.MatchString(before) || read.group.MatchString(before) && read.threes.MatchString(part)):
		case unicode.IsDigit(last) && read.notAfter.MatchString(after):
		case answer && (read.denied.MatchString(before) && !read.contrast.MatchString(read.denied.FindString(before)) || read.deniedAfter.MatchString(after)):
		case alone && (read.orBefore.MatchString(before) || !unicode.IsDigit(first) && read.orAfter.MatchString(after)):
		default:
			return true
		}
	}
}

// anyNumeral is the expression that finds a number in all ways to write it.
func anyNumeral(s string) string {
	whole, fraction, ok := strings.Cut(s, `\.`)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "[ ,.']?" + whole[i:]
	}
	if ok {
		return whole + "[.,]" + fraction + "0*"
	}
	return whole
}

// parseJSON reads a text that is one JSON value, also in a code fence.
func parseJSON(text string) (any, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		inner, _ = strings.CutSuffix(inner, "```")
		if _, rest, ok := strings.Cut(inner, "\n"); ok {
			text = rest
		}
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// agrees reports whether a value is as it is wanted, which may be a pattern. Spaces at
// the end of a text, and the form of its accents, make no difference.
func agrees(want, got any) bool {
	if re, ok := pattern(want); ok {
		return got != nil && regexp.MustCompile(re).MatchString(asText(got)) // checkPatterns has compiled it
	}
	switch want := want.(type) {
	case string:
		got, ok := got.(string)
		return ok && norm.NFC.String(strings.TrimRight(want, " \t\r\n")) == norm.NFC.String(strings.TrimRight(got, " \t\r\n"))
	case []any:
		got, ok := got.([]any)
		return ok && slices.EqualFunc(want, got, agrees)
	case map[string]any:
		got, ok := got.(map[string]any)
		return ok && maps.EqualFunc(want, got, agrees)
	}
	return want == got
}

// pattern is the regular expression of the value {match: REGEXP}, which ignores case.
func pattern(v any) (string, bool) {
	m, _ := v.(map[string]any)
	re, ok := m["match"].(string)
	return "(?i)" + re, ok && len(m) == 1
}

// checkPatterns returns what is wrong with a pattern in a value.
func checkPatterns(v any) error {
	if re, ok := pattern(v); ok {
		if _, err := regexp.Compile(re); err != nil {
			return fmt.Errorf("match: %w", err)
		}
		return nil
	}
	var all []any
	switch v := v.(type) {
	case []any:
		all = v
	case map[string]any:
		all = slices.Collect(maps.Values(v))
	}
	for _, inner := range all {
		if err := checkPatterns(inner); err != nil {
			return err
		}
	}
	return nil
}

// short is a text that fits in a message, and brief one of two.
func short(s string) string { return cut(s, 120) }
func brief(s string) string { return cut(s, 50) }

func cut(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	if s == "" {
		return "(empty)"
	}
	return s
}
