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
	"unicode"
	"unicode/utf8"
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
	}
	if err := checkPatterns([]any{c.JSON, slices.Collect(maps.Values(c.State))}); err != nil {
		return err
	}
	return nil
}

// run returns what is not as it must be; nil if all is.
func (c *Check) run(e End) error {
	if c.Answer != nil {
		if err := c.Answer.check(e.Answer); err != nil {
			return fmt.Errorf("the answer %w", err)
		}
	}
	if c.JSON != nil {
		got, err := parseJSON(e.Answer)
		if err != nil {
			return errors.New("the answer is not one JSON value")
		}
		if want := plainValue(c.JSON); !agrees(want, got) {
			return fmt.Errorf("the answer is %s, not %s", short(asText(got)), short(asText(want)))
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
			return fmt.Errorf("%s is %s in the end, not %s", path, short(asText(got)), short(asText(want)))
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
	if c.Answer != nil && c.Answer.check(e.Answer) == nil {
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
	return w.check(string(text))
}

func (w *Words) check(text string) error {
	in := plainText(text)
	holds := func(part string) bool { return holdsPart(in, plainText(part)) }
	for _, part := range w.All {
		if !holds(part) {
			return fmt.Errorf("lacks %q: %s", part, short(text))
		}
	}
	if len(w.Any) > 0 && !slices.ContainsFunc(w.Any, holds) {
		return fmt.Errorf("has none of %q: %s", w.Any, short(text))
	}
	for _, part := range w.None {
		if holds(part) {
			return fmt.Errorf("has %q: %s", part, short(text))
		}
	}
	if w.Is != nil && strings.TrimRight(text, " \t\r\n") != strings.TrimRight(*w.Is, " \t\r\n") {
		return fmt.Errorf("is %s, not %s", short(text), short(*w.Is))
	}
	if w.Match != "" && !regexp.MustCompile(w.Match).MatchString(text) { // prepare has compiled it
		return fmt.Errorf("does not match %s: %s", w.Match, short(text))
	}
	if n := len(strings.Fields(text)); w.Most > 0 && n > w.Most {
		return fmt.Errorf("has %d words; %d are allowed", n, w.Most)
	}
	return nil
}

var (
	thousands = regexp.MustCompile("(\\d)[,'’\u00a0\u202f](\\d{3})\\b")
	markdown  = strings.NewReplacer("*", "", "`", "", "_", "", "\\", "", "’", "'", "‘", "'", "“", `"`, "”", `"`, "‑", "-", "–", "-", "−", "-")
)

// plainText is a text without what makes no difference to what it says.
func plainText(s string) string {
	for thousands.MatchString(s) {
		s = thousands.ReplaceAllString(s, "$1$2")
	}
	return strings.ToLower(strings.Join(strings.Fields(markdown.Replace(s)), " "))
}

// holdsPart finds a text in another one, a number only as a whole.
func holdsPart(in, part string) bool {
	if part == "" {
		return true
	}
	first, _ := utf8.DecodeRuneInString(part)
	end, _ := utf8.DecodeLastRuneInString(part)
	for at := 0; ; at++ {
		i := strings.Index(in[at:], part)
		if i < 0 {
			return false
		}
		at += i
		if !(unicode.IsDigit(first) && digitBefore(in[:at]) || unicode.IsDigit(end) && digitAfter(in[at+len(part):])) {
			return true
		}
	}
}

func digitBefore(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	if r == '.' {
		r, _ = utf8.DecodeLastRuneInString(s[:len(s)-n])
	}
	return unicode.IsDigit(r)
}

func digitAfter(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	if r == '.' {
		if r, _ = utf8.DecodeRuneInString(s[n:]); r == '0' { // 42.0 is 42
			return strings.Trim(s[n:], "0") != "" && unicode.IsDigit(rune(strings.TrimLeft(s[n:], "0")[0]))
		}
	}
	return unicode.IsDigit(r)
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
// the end of a text make no difference.
func agrees(want, got any) bool {
	if re, ok := pattern(want); ok {
		return got != nil && regexp.MustCompile(re).MatchString(asText(got)) // checkPatterns has compiled it
	}
	switch want := want.(type) {
	case string:
		got, ok := got.(string)
		return ok && strings.TrimRight(want, " \t\r\n") == strings.TrimRight(got, " \t\r\n")
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

// short is a text that fits in a message.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 120 {
		s = string(r[:119]) + "…"
	}
	if s == "" {
		return "(empty)"
	}
	return s
}
