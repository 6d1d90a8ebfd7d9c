package redact

import (
	"slices"
	"strings"
)

// Text replaces the secrets in a text with markers such as [redacted: password]
// and returns the kinds that it found, each once. It runs in time linear in the
// length of the text.
//
// A string that merely looks random is left alone: commit hashes, UUIDs,
// checksums.
func Text(text string) (clean string, found []string) {
	r := redactor{text: text, tokens: byFirst()}
	r.scan()
	r.applyRules()
	if len(r.spans) == 0 {
		return text, nil
	}
	slices.SortStableFunc(r.spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	at := 0
	for _, s := range r.spans {
		if s.start < at {
			at = max(at, s.end) // overlaps the span before it
			continue
		}
		b.WriteString(text[at:s.start])
		b.WriteString("[redacted: " + s.kind + "]")
		at = s.end
		if !slices.Contains(found, s.kind) {
			found = append(found, s.kind)
		}
	}
	b.WriteString(text[at:])
	return b.String(), found
}

// span is a secret in a text.
type span struct {
	start, end int
	kind       string
}

type redactor struct {
	text   string
	tokens [256][]prefixed // by their first byte
	spans  []span
}

func (r *redactor) add(start, end int, kind string) {
	r.spans = append(r.spans, span{start, end, kind})
}

// scan looks for tokens, card numbers and assignments. It continues behind a
// secret, else at the next byte or the end of the word. It looks at most maxValue
// bytes ahead, so that it is linear.
func (r *redactor) scan() {
	for at := 0; at < len(r.text); {
		switch c := r.text[at]; {
		case alnum(c) || c == '_':
			end := r.token(at)
			switch {
			case end == 0 && isDigit(c):
				end = r.card(at)
			case end == 0 && upperDigit(c):
				end = r.account(at)
			}
			at = max(end, run(r.text, at, wordy))
		case c == '=' || c == ':':
			at = r.assignment(at)
		case c == '\\' && at+1 < len(r.text) && strings.IndexByte("nrt", r.text[at+1]) >= 0: // in a JSON string
			at += 2
		default:
			at++
		}
	}
}

// run returns where the characters of an alphabet end.
func run(s string, at int, alphabet func(byte) bool) int {
	for at < len(s) && alphabet(s[at]) {
		at++
	}
	return at
}

func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isLetter(c byte) bool   { return 'a' <= c|' ' && c|' ' <= 'z' }
func upperDigit(c byte) bool { return 'A' <= c && c <= 'Z' || isDigit(c) }
func alnum(c byte) bool      { return isLetter(c) || isDigit(c) }
func wordy(c byte) bool      { return alnum(c) || c == '_' || c == '-' }
func pathy(c byte) bool      { return wordy(c) || c == '/' || c == '.' }

// mixed reports whether s contains an unbroken run of 16 letters and digits with
// some of both.
func mixed(s string) bool {
	for at := 0; at < len(s); at++ {
		end := run(s, at, alnum)
		if end-at >= 16 && strings.ContainsFunc(s[at:end], digitRune) && strings.ContainsFunc(s[at:end], letterRune) {
			return true
		}
		at = end
	}
	return false
}

func digitRune(c rune) bool  { return c < 128 && isDigit(byte(c)) }
func letterRune(c rune) bool { return c < 128 && isLetter(byte(c)) }

var cards = form(`^(?:(?:4\d{3}|5[1-5]\d\d|6011|65\d\d|22[2-9]\d|2[3-6]\d\d|27[012]\d|35[2-8]\d)(?:[ -]?\d{4}){3}|3[47]\d\d[ -]?\d{6}[ -]?\d{5})\b`)

// orders is what comes before the number of an order.
var orders = form(`(?i)\border(?:s|[ _-]?(?:numbers?|no\.?|nr\.?|ids?))?(?: is| was)?[ :#=]*$`)

// card takes the number of a card of American Express, Visa, Mastercard, Discover or JCB
// with a valid check digit, and returns its end, 0 if there is none.
func (r *redactor) card(at int) (end int) {
	if at > 0 && strings.IndexByte("-.", r.text[at-1]) >= 0 || orders().MatchString(r.text[max(0, at-24):at]) { // every tenth number has a valid digit
		return 0
	}
	number := cards().FindString(r.text[at:min(len(r.text), at+24)])
	sum, double := 0, false
	for i := len(number) - 1; i >= 0; i-- {
		if !isDigit(number[i]) {
			continue
		}
		n := int(number[i] - '0')
		if double {
			n = n*2%10 + n/5
		}
		sum, double = sum+n, !double
	}
	if number == "" || sum%10 != 0 {
		return 0
	}
	r.add(at, at+len(number), "card number")
	return at + len(number)
}

// accounts are the countries with bank accounts in the international form (IBAN),
// each with the length of its numbers, as SWIFT registers them.
const accounts = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18" +
	"GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28" +
	"PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30"

// account takes the number of a bank account with a valid check, written in one
// piece or in groups of four, and returns its end, 0 if there is none.
func (r *redactor) account(at int) (end int) {
	rest := r.text[at:min(len(r.text), at+48)]
	if len(rest) < 15 || !isDigit(rest[2]) || !isDigit(rest[3]) {
		return 0
	}
	country := strings.Index(accounts, rest[:2])
	if country < 0 || country%4 != 0 {
		return 0
	}
	length := int(accounts[country+2]-'0')*10 + int(accounts[country+3]-'0')
	var number []byte
	for end = 0; end < len(rest) && len(number) < length; end++ {
		switch c := rest[end]; {
		case upperDigit(c):
			number = append(number, c)
		case c != ' ' || len(number)%4 != 0:
			return 0
		}
	}
	if len(number) < length || end < len(rest) && wordy(rest[end]) {
		return 0
	}
	check := 0 // ISO 7064: a letter is two digits, and the beginning comes last
	for _, c := range append(number[4:], number[:4]...) {
		if isDigit(c) {
			check = (check*10 + int(c-'0')) % 97
		} else {
			check = (check*100 + int(c-'A') + 10) % 97
		}
	}
	if check != 1 {
		return 0
	}
	r.add(at, at+end, "account number")
	return at + end
}
