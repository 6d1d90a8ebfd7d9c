package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// rule finds secrets whose form takes several words.
type rule struct {
	near   string // only texts that hold one of these words, in lower case, are searched
	kind   string // empty: the first group is a name that tells it
	form   func() *regexp.Regexp
	secret func(value string) bool // nil: every value is one
}

// form compiles an expression on first use: most runs of a program redact nothing.
// VALUE is a value in quotes or up to the next space. ARGS are arguments of a
// command before an option. STDIN is sudo with an option that has it read a
// password. STATED and KEYED are what a sentence states a password or a key with,
// and ABOUT is what it is of. ASIAN and ASKEY are STATED and KEYED in Japanese,
// Chinese and Korean, SAYS is the verb there.
func form(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(fragments.Replace(expression)) })
}

var fragments = strings.NewReplacer(
	"VALUE", `(?:"([^"\n]+)|'([^'\n]+)|\x60([^\x60\n]+)|([^\s"'\x60,;&)\]}]+))`,
	"ARGS", ` (?:(?:[^\n|]|\\\n)*?\s)??`,
	"STDIN", `sudo(?: +-\S+)*? +(?:-\w*S\w*|--stdin)\b`,
	"STATED", `(?:^|[^\pL\d_])(?:pass[ -]?word|passwd|pass[ -]?phrase|pass[ -]?code|\pL*passwort|\pL*kennwort|pwd?|wachtwoord|(?:mot de passe|contrase[nñ]a|senha)(?: +wi-?fi)?|пароль)`,
	"KEYED", `\b(?:(?:api|access|secret|private|auth|encryption|signing|licen[cs]e|master|account)[ _-]?key|api[ -]schlüssel|clé (?:d['’])?api|clave (?:de )?api|apikey|token|secret)`,
	"ABOUT", `(?: +(?:for|of|to|at|on|in|from|we|i|fürs?|von|vom|zu|zum|zur|der|des|im|am|auf|bei|de|du|del|do|da|pour|para|voor|от|для|на|к)(?: +[^\s"'\x60,;:!?()\[\]]+){1,6}?)`,
	"NAMED", `[\w-]*(?:key|token|secret|pass|auth|cookie|credential)[\w-]*`,
	"NUMBER", `(\.\d+)?`,
	"ASIAN", `(?:パスワード|パスフレーズ|パスコード|暗証番号|密码|密碼|口令|비밀번호|비번|패스워드)`,
	"ASKEY", `(?:(?i:api) ?キー|アクセストークン|トークン|密钥|密鑰|令牌|(?i:api) ?키|토큰)`,
	"SAYS", ` ?(?:は|が|を|现在是|就是|是|为|為|(?:改|换|換|设|設|设置|設定)(?:成|为|為)了?|는|은|가|이|를|을|[:：＝])[ \x{3000}]*`,
	"VERB", ` +(?:is|ist|was|lautet|est|es|é|è)(?: +(?:now|still|currently|jetzt|maintenant|ahora))?`,
)

const (
	statements = "pass|passphrase|kennwort|pw|wachtwoord|contrase|senha|пароль|pin"
	asian      = "パス|暗証番号|密码|密碼|口令|비밀번호|비번|패스워드"
)

var rules = sync.OnceValue(func() []rule {
	return []rule{
		{"-----begin ", "private key", form(`(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|.*))`), nil},
		{"private-lines: ", "private key", form(`Private-Lines: \d+[\r\n]*([A-Za-z0-9+/=\r\n]{16,}?)(?:\r?\nPrivate-MAC|[^A-Za-z0-9+/=\r\n]|$)`), nil},

		{"eyj", "JWT", form(`\b(eyJ[\w-]{7,}\.eyJ[\w-]*(?:\.[\w-]*)?)`), nil}, // two objects in base64, and a signature
		{"bearer ", "bearer token", form(`(?i)\bbearer ([\w/.+~=-]{16,})`), func(s string) bool { return strings.ContainsFunc(s, digitRune) }},
		{"basic ", "password", form(`(?i)\bbasic ([\w/.+~=-]{6,})`), basic},
		{"authorization: ", "secret", form(`(?i)authorization: (?:token|apikey) ([\w/.+~=-]+)`), random},
		{":aa", "API key", form(`(?:^|\D)(\d{8,10}:AA[\w-]{33})(?:[^\w-]|$)`), nil}, // of a Telegram bot
		{"://", "password", form(`://[^\s/?#"'<>:]*:([^\s/?#"'<>]+)@`), nil},
		{"://", "token", form(`://([^\s/?#"'<>:]+)(?::[^\s/?#"'<>]*)?@`), mixed},
		{"cookie: ", "cookie", form(`(?i)\b(?:set-)?cookie: ([^\n"']+)`), nil},
		{"--", "", form(`--([\w-]{3,62}) (?:"([^"\n]+)|'([^'\n]+)|([^\s"'\x60,;&)\]}-][^\s"'\x60,;&)\]}]*))`), nil},
		{"config", "", form(`\bconfig(?:ure)? set ([\w.-]{3,62})[ =]VALUE`), nil},
		{"key=", "secret", form(`[?&]key=([\w-]{16,})`), random}, // of Google, among others
		{"</", "", form(`<([\w-]{3,64})>([^<]+)</`), nil},

		{"machine ", "password", form(`machine\s+\S+\s+login\s+\S+\s+password\s+(\S+)`), nil}, // .netrc
		{"curl ", "password", form(`\bcurlARGS(?:-u ?|--user )(?:"[^":\n]*:([^"\n]+)|'[^':\n]*:([^'\n]+)|[^\s:"']*:([^\s"']+))`), option},
		{"mysql|mariadb|7z ", "password", form(`\b(?:mysql(?:dump|admin|import)?|mariadb(?:-dump)?|7z)ARGS-pVALUE`), option},
		{"sshpass ", "password", form(`\bsshpassARGS-p ?VALUE`), option},
		{"mongo| login ", "password", form(`\b(?:mongo(?:sh|dump|restore)?|(?:docker|podman|buildah|nerdctl|oras|helm registry) login)ARGS-p[ =]VALUE`), login},
		{"redis-cli ", "password", form(`\bredis-cliARGS-a VALUE`), option},
		{"ldap", "password", form(`\bldap(?:search|modify)ARGS-w VALUE`), option},
		{"sqlcmd |zip |mosquitto_", "password", form(`\b(?:sqlcmd|(?:un)?zip|mosquitto_(?:pub|sub))ARGS-P ?VALUE`), option},
		{"openssl enc ", "password", form(`\bopenssl encARGS-k VALUE`), option},
		{"htpasswd ", "password", form(`\bhtpasswd -\w*b\w* \S+ \S+ VALUE`), option},
		{"rclone obscure ", "password", form(`\brclone obscure VALUE`), option},
		{"smbclient ", "password", form(`\bsmbclientARGS-U ?["']?[^\s%"']+%([^\s"']+)`), nil},
		{"net use ", "password", form(`(?i)\bnet use \S+ \\\\\S+ ([^\s/*]\S*)`), nil},
		{"chpasswd", "password", form(`\b(?:echo|printf) +["']?[\w.-]+:([^\s"'|]+)["']? *\| *(?:sudo +)?chpasswd`), nil},
		{":5432:|:*:", "password", form(`(?m)^[^\s:#]+:(?:\d+|\*):[^\s:]+:[^\s:]+:(\S+)$`), nil}, // .pgpass
		{"curl |--cookie", "cookie", form(`(?:\bcurlARGS-b ?|--cookie[ =])VALUE`), nil},
		{"sudo |-stdin", "password", form(`\b(?:echo|printf) +(?:-n +|["']%s(?:\\n)?["'] +)?(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|]+)) *\| *(?:STDIN|\S+ login[^\n]* --password-stdin)`), nil},
		{"<<<", "password", form(`\bSTDIN[^\n]*<<< *VALUE`), nil},

		// A password that a sentence states: in quotes, behind a colon, with a digit or
		// a sign, or at its end where it is somebody's or the verb says so.
		{statements, "password", form(`(?i)(?:STATEDABOUT?|\bpin)VERB:? +(?:"([^"\n]+)"|'([^'\n]+)'|\x60([^\x60\n]+)\x60)`), quoted},
		{statements, "password", form(`(?i)STATEDABOUT?(?:VERB:?| ?:) *(?:“([^”\n]+)”|‘([^’\n]+)’|„([^“”\n]+)[“”]|«[ \x{a0}]?([^»\n]+?)[ \x{a0}]?»)`), quoted},
		{statements, "password", form(`(?i)(?:STATEDABOUT?|\bpin)VERB: +([^\s"'\x60]\S*?)[.,;!?)"']*(?:\s|$)`), stated},
		{statements, "password", form(`(?i)\bpin(?: +(?:code|number))?ABOUT?(?:VERB:?|:) +(\d{4,})\b`), nil},
		{statements, "password", form(`(?i)STATEDABOUT?(?:VERB|['’]s) +([^\s"'\x60]+?)[.,;!?)"']*(?:\s|$)`), strong},
		{"clave", "password", form(`(?i)\bclaveABOUT?(?:VERB:?| ?:) +([^\s"'\x60]+?)[.,;!?)"']*(?:\s|$)`), strong},
		{"login|cred|zugangsdaten", "password", form(`(?i)\b(?:logins?|cred(?:ential)?s|zugangsdaten)ABOUT?(?: is| are| ist| sind)?:? +["']?[\w.@-]+(?:[/:]| / |: )["']?([^\s"'\x60]+?)[.,;!?)"']*(?:\s|$)`), strong},
		{statements, "password", form(`(?i)STATED(?:ABOUT| ?) ?[:：–—] *["'\x60«“]?([^\s"'\x60«»“”]+?)[.,;!?)"'\x60»”]*(?:\s|$)`), strong},
		{statements, "password", form(`(?i)\b(?:my|our|meine?|unsere?|mon|ma|notre|mi|nuestra|mia|minha)(?: +[\pL-]+){0,2}?STATEDABOUT?VERB +([^\s"'\x60.,;!?]+)(?:[.,;!?\n]|$| +(?:and|but|und|aber|et|mais|y|pero) )`), stated},
		{statements, "password", form(`(?i)STATEDABOUT ?[:：] *([^\s"'\x60.,;:!?()]+)[.!]?(?:\n|$)`), stated},
		{statements, "password", form(`(?i)STATEDABOUT? +lautet:? +([^\s"'\x60.,;!?]+)(?:[.,;!?\n]|$)`), stated},
		{statements, "password", form(`(?i)\b(?:set|chang|reset|updat)\w*(?: [^.\n]{0,40}?)?STATEDABOUT? +(?:to|auf) +(?:"([^"\n]+)"|'([^'\n]+)'|\x60([^\x60\n]+)\x60|([^\s"'\x60.,;!?]+)(?:[.,;!?\n]|$))`), quoted},
		{statements, "password", form(`(?i)\b(?:set|chang|reset|updat)\w*(?: [^.\n]{0,40}?)?STATEDABOUT? +(?:to|auf) +([^\s"'\x60]+?)[.,;!?)]*(?:\s|$)`), strong},
		{statements, "password", form(`(?i)STATEDABOUT? +(?:is |was |has been )?(?:set|changed|reset|updated) to +["'\x60]?([^\s"'\x60]+?)[.,;!?)"'\x60]*(?:\s|$)`), strong},
		{statements, "password", form(`(?i)\b(?:user(?:name)?|login|account|benutzer)(?: is|:)? +[^\s,;/]+ ?[,;/]?(?: and| with| und)?STATED +["'\x60]?([^\s"'\x60]+?)[.,;!?)"'\x60]*(?:\s|$)`), strong},

		// In scripts that join words, a value of ASCII ends where the sentence goes on. One
		// that could be a word is a password where it says that it is one.
		{asian, "password", form(`ASIANSAYS(?:「([^」\n]+)」|『([^』\n]+)』|“([^”\n]+)”|"([^"\s,)][^"\n]*)"|'([^'\s,)][^'\n]*)')`), ascii},
		{asian, "password", form(`ASIANSAYS\x60?([!-~]+?)[.,;!?)\x60]*(?:[^!-~]|$)`), strongASCII},
		{asian, "password", form(`ASIANSAYS([!-~]+?) ?(?:です|でした|だよ|입니다|이에요|예요|이야|야|[。．！，,、.!]|\s*(?:\n|$))`), plainASCII},
		{"キー|トークン|密钥|密鑰|令牌|키|토큰", "secret", form(`ASKEYSAYS["'\x60「“]?([!-~]+?)[.,;!?)"'\x60]*(?:[^!-~]|$)`), keylike},

		{"ssn|social security", "social security number", form(`(?i)\b(?:ssn|social security)\b[^\n\d]{0,40}?\b(\d{3}[ -]?\d\d[ -]?\d{4})\b`), socialSecurity},

		{"key|token|secret|schlüssel|clé|clave", "secret", form(`(?i)KEYEDABOUT?(?:VERB:?| ?[:：]) *["'\x60]?([^\s"'\x60]+?)[.,;!?)"'\x60]*(?:\s|$)`), keylike},

		{":_authtoken", "secret", form(`:_authToken[ =]+["']?([\w.=/+-]{16,})`), nil},      // of npm, whatever it looks like
		{"tskey-", "API key", form(`\b(tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{16,})`), nil}, // of Tailscale
		{"1//0", "token", form(`(?:^|[^\w/])(1//0[\w-]{40,})`), nil},                       // Google's, to refresh others
	}
})

// applyRules searches the text by each rule that may find something.
func (r *redactor) applyRules() {
	lower := strings.ToLower(r.text)
	for _, rule := range rules() {
		if !slices.ContainsFunc(strings.Split(rule.near, "|"), func(word string) bool { return strings.Contains(lower, word) }) {
			continue
		}
		for _, m := range rule.form().FindAllStringSubmatchIndex(r.text, -1) {
			kind, groups := rule.kind, m[2:]
			if kind == "" {
				kind, _ = secretKind(r.text[m[2]:m[3]])
				groups = m[4:]
			}
			for groups[0] < 0 {
				groups = groups[2:]
			}
			start, end := groups[0], groups[1]
			switch value := r.text[start:end]; {
			case kind == "cookie":
				r.cookies(start, end)
			case kind != "" && !placeholder(value) && (rule.secret == nil || rule.secret(value)) && (rule.kind != "" || kind == "password" || random(value)):
				r.add(start, end, kind)
			}
		}
	}
}

// option reports whether an argument can be the value of an option.
func option(s string) bool { return !strings.HasPrefix(s, "-") }

// login is option where another command that publishes ports may follow.
func login(s string) bool { return option(s) && !ports().MatchString(s) }

var ports = form(`^(?:[\d.]+:)?\d+:\d+$`)

// basic reports whether s, or its head if it was cut, is a name and a password in
// base64, as RFC 7617 defines.
func basic(s string) bool {
	s = strings.TrimRight(s[:min(len(s), maxValue)], "=")
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(s)
	return err == nil && strings.Contains(string(plain), ":") && utf8.Valid(plain) && !strings.ContainsFunc(string(plain), unicode.IsControl)
}

// quoted reports whether what follows "the password is" in quotes may be one. Remarked
// are words that are none.
func quoted(s string) bool {
	said := strings.ToLower(strings.Trim(s, ".,;!?"))
	return len(s) >= 4 && !slices.Contains(noPasswords, said) && !slices.Contains(remarked, said)
}

// stated is quoted without quotes, where a word such as outdated or a path is none.
func stated(s string) bool {
	return quoted(s) && s[0] != '/' && !strings.HasSuffix(strings.TrimRight(s, ".,;!?"), "ed")
}

// strong reports whether a word that nothing else marks as a password is one: it
// has a digit or a sign, and is no format, count, place or code.
func strong(s string) bool {
	return quoted(s) && s[0] != '/' && strings.ContainsAny(s, "0123456789!@#%^&+") && strings.Trim(s, "0123456789") != "" &&
		!formats().MatchString(s) && !location().MatchString(s) && !expression().MatchString(s) && !strings.Contains(s, "://")
}

// strongASCII is strong for a word within a sentence of another script.
func strongASCII(s string) bool { return strong(s) && strings.ContainsFunc(s, letterRune) }

// plainASCII reports whether a word that a sentence of another script states as a
// password may be one.
func plainASCII(s string) bool {
	return ascii(s) && stated(s) && !formats().MatchString(s) && !expression().MatchString(s) && !strings.Contains(s, "://")
}

// ascii reports whether there are letters or digits of ASCII in s, as in a password
// that is typed.
func ascii(s string) bool {
	return len(s) >= 4 && strings.ContainsFunc(s, func(r rune) bool { return r < 128 && alnum(byte(r)) })
}

// socialSecurity reports whether s is a number that can be issued in the USA.
func socialSecurity(s string) bool {
	group, serial := strings.Trim(s[3:len(s)-4], " -"), s[len(s)-4:]
	return s[:3] != "000" && s[:3] != "666" && s[0] != '9' && group != "00" && serial != "0000"
}

// formats are words with a digit that are said of passwords and keys.
var formats = form(`(?i)^(?:\d+-[a-z-]+|(?:base|sha|md|utf|aes|argon|pbkdf|rsa|oauth|rfc|rs|hs|es|ed)-?\d+(?:[-_]\w+)*)$`)

// keylike reports whether what a sentence states may be a key or a token: letters
// and digits that alternate, as in no word.
func keylike(s string) bool {
	return len(s) >= 12 && random(s) && !formats().MatchString(s) && !strings.Contains(s, "://") &&
		(mixed(s) || len(digits().FindAllString(s, 2)) > 1 || len(s) >= 20 && strings.ToLower(s) != s)
}

var digits = form(`\d+`)

var remarked = strings.Fields(`also always still very stored saved kept safe weak strong long short secret known unknown good gone lost forgotten
	broken blank correct right different like what that this your their from being probably never default random something expire accepted rejected falsch nicht
	secure private simple easy hard old new hashed encrypted reused public shared vergessen abgelaufen kurz lang incorrecta olvidada larga corta caducada
	oublié perdu expiré faible trop correcte incorrect sbagliata errata scaduta debole dimenticata incorreta errada esquecida`)

// cookies takes the values of a Cookie or Set-Cookie header that look random.
func (r *redactor) cookies(at, end int) {
	for part := range strings.SplitAfterSeq(r.text[at:end], ";") {
		name, value, _ := strings.Cut(strings.TrimSuffix(part, ";"), "=")
		if random(value) && !strings.EqualFold(strings.TrimSpace(name), "expires") {
			r.add(at+len(name)+1, at+len(name)+1+len(value), "cookie")
		}
		at += len(part)
	}
}

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
	{"sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ sm_aat_ sm_pat_ sm_sat_", "API key", alnum, 16, false},
	{"hf_", "API key", alnum, 34, false},
	{"gsk_ xai- fw_ ATBB hf_", "API key", alnum, 20, true},
	{"shpat_ shpca_ shppa_ shpss_ lin_api_ p8e- npm_ api_org_ pnu_", "API key", alnum, 30, false},
	{"dapi key- r8_ csk- pul- phx_ ntn_ sbp_ oy2 secret_ EZAK EZTK ico- cmVmd AKCp", "API key", alnum, 32, true},
	{"pplx- dp.pt. rubygems_ CLOJARS_ dop_v1_ doo_v1_ dor_v1_ sntryu_ rdme_ sgp_ shippo_live_ shippo_test_", "API key", alnum, 40, false},
	{"NRAK-", "API key", upperDigit, 27, false},
	{"whsec_", "API key", base64ish, 16, false},
	{"glc_ sntrys_ fm2_ ops_eyJ", "API key", base64ish, 32, true},
	{"ATATT3 ATCTT3", "API key", base64ish, 100, true},
	{"pscale_tkn_ pscale_oauth_ pscale_pw_ SG. dt0c01.", "API key", dotted, 32, false},
	{"patpat", "API key", dotted, 70, true},
	{"ya29. GOCSPX- dckr_pat_ dckr_oat_ sb_secret_ sq0atp- hvs. AIza", "API key", wordy, 20, false},
	{"sk- tskey- tvly- glsa_ HRKU- lsv2_ figd_ pcsk_", "API key", wordy, 20, true},
	{"sq0csp- duffel_live_ fo1_ sha256~ CFPAT- nvapi- jina_ pypi-AgE PMAK- xkeysib- hvb. fio-u- tk-us-", "API key", wordy, 40, false},
	{"EAAA EAAC EAAM", "API key", wordy, 56, true},
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
