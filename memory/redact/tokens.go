package redact

import (
	"strings"
	"sync"
)

// token is a form of secret that begins with something unmistakable.
type token struct {
	prefix, kind string
	alphabet     func(byte) bool
	least        int  // characters after the prefix
	mixed        bool // some of it must be an unbroken mix of letters and digits, as no name is
}

// The forms are those that the issuers document, and that GitHub's secret
// scanning and gitleaks look for.
var tokens = []token{
	{"A3T", "AWS key", upperDigit, 17, true}, {"AKIA", "AWS key", upperDigit, 16, false}, {"ASIA", "AWS key", upperDigit, 16, false},
	{"ABIA", "AWS key", upperDigit, 16, false}, {"ACCA", "AWS key", upperDigit, 16, false}, {"ABSK", "AWS key", base64ish, 100, true},
	{"LTAI", "API key", alnum, 16, true}, // Alibaba
	{"AGE-SECRET-KEY-1", "private key", upperDigit, 50, false},

	{"ghp_", "GitHub token", alnum, 36, false}, {"gho_", "GitHub token", alnum, 36, false}, {"ghu_", "GitHub token", alnum, 36, false},
	{"ghs_", "GitHub token", alnum, 36, false}, {"ghr_", "GitHub token", alnum, 36, false}, {"github_pat_", "GitHub token", wordy, 22, false},
	{"glpat-", "GitLab token", dotted, 20, false}, {"glptt-", "GitLab token", wordy, 20, false}, {"gldt-", "GitLab token", wordy, 20, false},
	{"glrt-", "GitLab token", dotted, 20, false}, {"glcbt-", "GitLab token", wordy, 20, false}, {"gloas-", "GitLab token", wordy, 40, false},
	{"glft-", "GitLab token", wordy, 20, false}, {"glimt-", "GitLab token", wordy, 20, false}, {"glagent-", "GitLab token", wordy, 40, false},
	{"glsoat-", "GitLab token", wordy, 20, false}, {"glffct-", "GitLab token", wordy, 20, false}, {"GR1348941", "GitLab token", wordy, 20, false},
	{"ATATT3", "API key", base64url, 100, true}, {"ATBB", "API key", alnum, 28, true}, {"ATCTT3", "API key", base64url, 100, true}, // Atlassian

	{"xoxa-", "Slack token", wordy, 10, false}, {"xoxb-", "Slack token", wordy, 10, false}, {"xoxe-", "Slack token", wordy, 10, false},
	{"xoxe.", "Slack token", dotted, 20, true}, {"xoxp-", "Slack token", wordy, 10, false}, {"xoxr-", "Slack token", wordy, 10, false},
	{"xoxs-", "Slack token", wordy, 10, false}, {"xoxo-", "Slack token", wordy, 10, false}, {"xapp-", "Slack token", wordy, 10, false},
	{"hooks.slack.com/services/", "Slack token", pathy, 20, false}, {"hooks.slack.com/workflows/", "Slack token", pathy, 20, false},
	{"hooks.slack.com/triggers/", "Slack token", pathy, 20, false},
	{"discord.com/api/webhooks/", "webhook", pathy, 40, false}, {"discordapp.com/api/webhooks/", "webhook", pathy, 40, false},
	{"webhook.office.com/webhookb2/", "webhook", func(c byte) bool { return pathy(c) || c == '@' }, 40, false},

	{"sk-", "API key", wordy, 20, true}, {"gsk_", "API key", alnum, 20, true}, {"xai-", "API key", alnum, 20, true}, {"hf_", "API key", alnum, 30, true},
	{"api_org_", "API key", alnum, 30, false}, {"pplx-", "API key", alnum, 40, false}, {"r8_", "API key", alnum, 37, true},
	{"nvapi-", "API key", wordy, 50, false}, {"tvly-", "API key", wordy, 28, true}, {"fw_", "API key", alnum, 22, true}, {"csk-", "API key", alnum, 40, true},
	{"lsv2_", "API key", wordy, 40, true}, {"jina_", "API key", wordy, 50, false}, {"pcsk_", "API key", wordy, 50, true},

	{"AIza", "API key", wordy, 35, false}, {"ya29.", "API key", wordy, 20, false}, {"GOCSPX-", "API key", wordy, 20, false},
	{"sk_live_", "API key", alnum, 16, false}, {"sk_test_", "API key", alnum, 16, false}, {"rk_live_", "API key", alnum, 16, false},
	{"rk_test_", "API key", alnum, 16, false}, {"whsec_", "API key", base64ish, 16, false},
	{"sq0atp-", "API key", wordy, 22, false}, {"sq0csp-", "API key", wordy, 40, false}, {"EAAA", "API key", wordy, 56, true},
	{"shpat_", "API key", alnum, 32, false}, {"shpca_", "API key", alnum, 32, false}, {"shppa_", "API key", alnum, 32, false}, {"shpss_", "API key", alnum, 32, false},
	{"npm_", "API key", alnum, 36, false}, {"pypi-AgE", "API key", wordy, 50, false}, {"rubygems_", "API key", alnum, 48, false},
	{"CLOJARS_", "API key", alnum, 60, false}, {"oy2", "API key", alnum, 43, true}, {"dckr_pat_", "API key", wordy, 20, false}, {"dckr_oat_", "API key", wordy, 20, false},
	{"dop_v1_", "API key", alnum, 64, false}, {"doo_v1_", "API key", alnum, 64, false}, {"dor_v1_", "API key", alnum, 64, false},
	{"HRKU-", "API key", wordy, 36, true}, {"fo1_", "API key", wordy, 43, false}, {"fm2_", "API key", base64ish, 100, false},
	{"dapi", "API key", alnum, 32, true}, {"pul-", "API key", alnum, 40, true}, {"hvs.", "API key", wordy, 24, false}, {"hvb.", "API key", wordy, 100, false},
	{"dp.pt.", "API key", alnum, 40, false}, {"dt0c01.", "API key", dotted, 80, false}, {"sha256~", "API key", wordy, 43, false},
	{"SG.", "API key", dotted, 60, false}, {"xkeysib-", "API key", wordy, 64, false}, {"key-", "API key", alnum, 32, true}, // Mailgun's
	{"NRAK-", "API key", upperDigit, 27, false}, {"glsa_", "API key", wordy, 32, true}, {"glc_", "API key", base64ish, 32, true},
	{"sntrys_", "API key", base64ish, 40, true}, {"sntryu_", "API key", alnum, 64, false}, {"phx_", "API key", alnum, 40, true},
	{"lin_api_", "API key", alnum, 32, false}, {"ntn_", "API key", alnum, 40, true}, {"secret_", "API key", alnum, 43, true}, // Notion's
	{"figd_", "API key", wordy, 40, true}, {"PMAK-", "API key", wordy, 58, false}, {"rdme_", "API key", alnum, 70, false},
	{"patpat", "API key", dotted, 70, true}, {"CFPAT-", "API key", wordy, 43, false}, {"sbp_", "API key", alnum, 40, true}, {"sb_secret_", "API key", wordy, 20, false},
	{"pscale_tkn_", "API key", dotted, 32, false}, {"pscale_oauth_", "API key", dotted, 32, false}, {"pscale_pw_", "API key", dotted, 32, false},
	{"AKCp", "API key", alnum, 69, true}, {"cmVmd", "API key", alnum, 59, true}, {"ops_eyJ", "API key", base64ish, 100, false},
	{"tskey-", "API key", wordy, 20, true}, {"EZAK", "API key", alnum, 54, true}, {"duffel_live_", "API key", wordy, 40, false}, {"p8e-", "API key", alnum, 32, false},
	{"django-insecure-", "secret", func(c byte) bool { return c > ' ' && strings.IndexByte("\"'`\\", c) < 0 }, 20, false},
}

func base64url(c byte) bool { return wordy(c) || c == '=' }
func base64ish(c byte) bool { return base64url(c) || c == '+' || c == '/' }
func dotted(c byte) bool    { return wordy(c) || c == '.' }

// byFirst are the tokens by their first byte.
var byFirst = sync.OnceValue(func() (all [256][]*token) {
	for i := range tokens {
		first := tokens[i].prefix[0]
		all[first] = append(all[first], &tokens[i])
	}
	return all
})

// Tokens whose form is more than a prefix: a JSON Web Token, whose first two parts
// are objects in base64, and that of a Discord bot, its number, a time and a
// signature.
var (
	webToken = form(`^eyJ[\w-]{7,}\.eyJ[\w-]*(?:\.[\w-]*)?`)
	discord  = form(`^[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}`)
)

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
	kind, re := "JWT", webToken
	switch {
	case strings.HasPrefix(rest, "eyJ"):
	case rest[0] >= 'M' && rest[0] <= 'O' && strings.IndexByte(rest[:min(len(rest), 30)], '.') >= 24:
		kind, re = "API key", discord
	default:
		return 0
	}
	if m := re().FindString(rest); m != "" {
		r.add(at, at+len(m), kind)
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
