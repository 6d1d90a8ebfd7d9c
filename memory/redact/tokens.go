package redact

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
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

func pair(s string) int { return int(s[0])<<8 | int(s[1]) }

func base64url(c byte) bool { return wordy(c) || c == '=' }
func base64ish(c byte) bool { return base64url(c) || c == '+' || c == '/' }
func dotted(c byte) bool    { return wordy(c) || c == '.' }

// word looks at the beginning of a word, and goes on at its end.
func (r *redactor) word(at int) (next int) {
	if at+1 < len(r.text) && r.forms.starts[pair(r.text[at:])] {
		if end := r.token(at); end > 0 {
			return end
		}
		r.commandAt(at)
	}
	if isDigit(r.text[at]) {
		if end := r.card(at); end > 0 {
			return end
		}
	}
	end := at + 1
	for end < len(r.text) && (r.forms.classes[r.text[end]] == inWord || r.text[end] == '-') {
		end++
	}
	if (end-at == len("Bearer") || end-at == len("Basic")) && // so long are Token and ApiKey, too
		strings.HasPrefix(r.text[end:], " ") {
		if next := r.scheme(at, end); next > end {
			return next
		}
	}
	if r.text[at:end] == "password" {
		if next := r.netrc(at, end); next > 0 {
			return max(end, next)
		}
	}
	return max(end, r.phrase(at, end))
}

// netrc takes the password of a line of .netrc: machine HOST login NAME password
// PASSWORD.
func (r *redactor) netrc(at, end int) (next int) {
	before := strings.Fields(r.text[max(0, at-2*maxValue):at])
	if n := len(before); n < 4 || before[n-2] != "login" || before[n-4] != "machine" {
		return 0
	}
	start := end + len(r.text[end:]) - len(strings.TrimLeft(r.text[end:], " \t\n"))
	next = run(r.text, start, func(c byte) bool { return c > ' ' })
	return r.password(span{start: start, end: next})
}

// token takes a token that begins at a place; 0: none does.
func (r *redactor) token(at int) (end int) {
	if at >= len(r.text) {
		return 0
	}
	for _, t := range r.forms.tokens[r.text[at]] {
		if !strings.HasPrefix(r.text[at:], t.prefix) {
			continue
		}
		start := at + len(t.prefix)
		end := run(r.text, start, t.alphabet)
		for end > start && r.text[end-1] == '.' { // of the sentence
			end--
		}
		if end-start >= t.least && (!t.mixed || mixed(r.text[start:end], 16)) {
			r.add(at, end, t.kind)
			return end
		}
	}
	switch r.text[at] {
	case 'e':
		return r.webToken(at)
	case 'M', 'N', 'O':
		return r.discord(at)
	}
	return 0
}

// webToken takes a JSON Web Token: two or three parts in base64, of which the
// first two are objects.
func (r *redactor) webToken(at int) (end int) {
	const object = "eyJ" // {" in base64
	if !strings.HasPrefix(r.text[at:], object) {
		return 0
	}
	dot := run(r.text, at, wordy)
	if dot-at < 10 || !strings.HasPrefix(r.text[dot:], "."+object) {
		return 0
	}
	end = run(r.text, dot+1, wordy)
	if strings.HasPrefix(r.text[end:], ".") {
		end = run(r.text, end+1, wordy)
	}
	r.add(at, end, "JWT")
	return end
}

// discord takes a token of a bot of Discord's: its number in base64, a time, and
// a signature.
func (r *redactor) discord(at int) (end int) {
	first := run(r.text, at, wordy)
	if first-at < 24 || first-at > 28 || !strings.HasPrefix(r.text[first:], ".") {
		return 0
	}
	second := run(r.text, first+1, wordy)
	if second-first != 7 || !strings.HasPrefix(r.text[second:], ".") {
		return 0
	}
	if end = run(r.text, second+1, wordy); end-second < 28 {
		return 0
	}
	r.add(at, end, "API key")
	return end
}

// telegram takes a token of a bot of Telegram's: its number, and 35 characters
// behind the colon of which the first two are A.
func (r *redactor) telegram(colon int) (end int) {
	if !strings.HasPrefix(r.text[colon:], ":AA") {
		return 0
	}
	start := colon
	for start > 0 && colon-start < 11 && isDigit(r.text[start-1]) {
		start--
	}
	end = run(r.text, colon+1, wordy)
	if colon-start < 8 || colon-start > 10 || end-colon != 36 {
		return 0
	}
	r.add(start, end, "API key")
	return end
}

// scheme takes what follows Bearer or Basic, and Token or ApiKey in a header.
func (r *redactor) scheme(at, end int) (next int) {
	start := end + 1
	next = run(r.text, start, func(c byte) bool { return pathy(c) || strings.IndexByte("+~=", c) >= 0 })
	given := r.text[start:next]
	switch word := r.text[at:end]; {
	case strings.EqualFold(word, "bearer") && len(given) >= 16 && strings.ContainsAny(given, "0123456789"):
		r.add(start, next, "bearer token")
		return next
	case strings.EqualFold(word, "basic") && basic(given):
		r.add(start, next, "password")
		return next
	case (strings.EqualFold(word, "token") || strings.EqualFold(word, "apikey")) && random(given) && strings.HasSuffix(strings.ToLower(r.text[max(0, at-15):at]), "authorization: "):
		r.add(start, next, "secret")
		return next
	}
	return end
}

// basic tells whether s, or its head if it was cut, is a name and a password in
// base64, as RFC 7617 has them.
func basic(s string) bool {
	s = strings.TrimRight(s[:min(len(s), maxValue)], "=")
	if len(s) < 6 {
		return false
	}
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(s)
	return err == nil && strings.Contains(string(plain), ":") && utf8.Valid(plain) && strings.IndexFunc(string(plain), unicode.IsControl) < 0
}
