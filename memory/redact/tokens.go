package redact

import (
	"strings"
	"sync"
)

// token is a form of secret that begins with something unmistakable.
type token struct {
	prefixes, kind string // of several issuers that use the same form
	alphabet       func(byte) bool
	least          int  // characters after the prefix
	mixed          bool // some of it must be an unbroken mix of letters and digits, as no name is
}

// The forms are those that the issuers document, and that GitHub's secret
// scanning and gitleaks look for.
var tokens = []token{
	{"AKIA ASIA ABIA ACCA", "AWS key", upperDigit, 16, false},
	{"A3T", "AWS key", upperDigit, 17, true},
	{"ABSK", "AWS key", base64ish, 100, true},
	{"ghp_ gho_ ghu_ ghs_ ghr_", "GitHub token", alnum, 36, false},
	{"github_pat_", "GitHub token", wordy, 22, false},
	{"glpat- glrt-", "GitLab token", dotted, 20, false},
	{"glptt- gldt- glcbt- glft- glimt- glsoat- glffct- gloas- glagent- GR1348941", "GitLab token", wordy, 20, false},
	{"xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xoxo- xapp-", "Slack token", wordy, 10, false},
	{"xoxe.", "Slack token", dotted, 20, true},
	{"hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", "Slack token", pathy, 20, false},
	{"discord.com/api/webhooks/ discordapp.com/api/webhooks/", "webhook", pathy, 40, false},
	{"webhook.office.com/webhookb2/", "webhook", func(c byte) bool { return pathy(c) || c == '@' }, 40, false},
	{"AGE-SECRET-KEY-1", "private key", upperDigit, 50, false},
	{"django-insecure-", "secret", func(c byte) bool { return c > ' ' && strings.IndexByte("\"'`\\", c) < 0 }, 20, false},

	{"LTAI", "API key", alnum, 16, true},
	{"sk_live_ sk_test_ rk_live_ rk_test_", "API key", alnum, 16, false},
	{"hf_", "API key", alnum, 34, false},
	{"gsk_ xai- fw_ ATBB hf_", "API key", alnum, 20, true},
	{"shpat_ shpca_ shppa_ shpss_ lin_api_ p8e- npm_ api_org_", "API key", alnum, 30, false},
	{"dapi key- r8_ csk- pul- phx_ ntn_ sbp_ oy2 secret_ EZAK cmVmd AKCp", "API key", alnum, 32, true},
	{"pplx- dp.pt. rubygems_ CLOJARS_ dop_v1_ doo_v1_ dor_v1_ sntryu_ rdme_", "API key", alnum, 40, false},
	{"NRAK-", "API key", upperDigit, 27, false},
	{"whsec_", "API key", base64ish, 16, false},
	{"glc_ sntrys_ fm2_ ops_eyJ", "API key", base64ish, 32, true},
	{"ATATT3 ATCTT3", "API key", base64ish, 100, true},
	{"pscale_tkn_ pscale_oauth_ pscale_pw_ SG. dt0c01.", "API key", dotted, 32, false},
	{"patpat", "API key", dotted, 70, true},
	{"ya29. GOCSPX- dckr_pat_ dckr_oat_ sb_secret_ sq0atp- hvs. AIza", "API key", wordy, 20, false},
	{"sk- tskey- tvly- glsa_ HRKU- lsv2_ figd_ pcsk_", "API key", wordy, 20, true},
	{"sq0csp- duffel_live_ fo1_ sha256~ CFPAT- nvapi- jina_ pypi-AgE PMAK- xkeysib- hvb.", "API key", wordy, 40, false},
	{"EAAA", "API key", wordy, 56, true},
}

func base64ish(c byte) bool { return pathy(c) && c != '.' || c == '=' || c == '+' }
func dotted(c byte) bool    { return wordy(c) || c == '.' }

// prefixed is a token with one of its prefixes.
type prefixed struct {
	prefix string
	*token
}

// byFirst are the tokens by their first byte.
var byFirst = sync.OnceValue(func() (all [256][]prefixed) {
	for i := range tokens {
		for _, prefix := range strings.Fields(tokens[i].prefixes) {
			all[prefix[0]] = append(all[prefix[0]], prefixed{prefix, &tokens[i]})
		}
	}
	return all
})

// discord is the form of a Discord bot's token: its number, a time and a signature.
var discord = form(`^[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}`)

// token takes a token that begins at a place and returns its end, 0 if there is none.
func (r *redactor) token(at int) (end int) {
	if at >= len(r.text) {
		return 0
	}
	rest := r.text[at:]
	for _, t := range r.tokens[rest[0]] {
		if !strings.HasPrefix(rest, t.prefix) {
			continue
		}
		n := run(rest, len(t.prefix), t.alphabet)
		n = len(strings.TrimRight(rest[:n], ".")) // of the sentence
		if n-len(t.prefix) >= t.least && (!t.mixed || mixed(rest[len(t.prefix):n])) {
			r.add(at, at+n, t.kind)
			return at + n
		}
	}
	if rest[0] < 'M' || rest[0] > 'O' || strings.IndexByte(rest[:min(len(rest), 30)], '.') < 24 {
		return 0
	}
	if m := discord().FindString(rest); m != "" {
		r.add(at, at+len(m), "API key")
		return at + len(m)
	}
	return 0
}

var cards = form(`^(?:(?:4\d{3}|5[1-5]\d\d|6011|65\d\d)(?:[ -]?\d{4}){3}|3[47]\d\d[ -]?\d{6}[ -]?\d{5})\b`)

// card takes the number of a card of American Express, Visa, Mastercard or Discover
// with a valid check digit, and returns its end, 0 if there is none.
func (r *redactor) card(at int) (end int) {
	if at > 0 && strings.IndexByte("-.", r.text[at-1]) >= 0 {
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
