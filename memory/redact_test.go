package memory_test

import (
	"slices"
	"strings"
	"testing"

	"mylm/memory"
)

func TestRedact(t *testing.T) {
	const b64 = "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun"
	alnum36 := strings.Repeat("a1B2c3", 6)
	for _, tt := range []struct{ kind, text, want string }{
		{"private key", "see -----BEGIN RSA PRIVATE KEY-----\n" + b64 + "\n-----END RSA PRIVATE KEY----- there", "see [redacted: private key] there"},
		{"private key", "-----BEGIN OPENSSH PRIVATE KEY-----\n" + b64 + "\n(cut)", "[redacted: private key]"},
		{"private key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n" + b64 + "\n-----END PGP PRIVATE KEY BLOCK-----", "[redacted: private key]"},
		{"AWS key", "id AKIAIOSFODNN7EXAMPLE.", "id [redacted: AWS key]."},
		{"secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [redacted: secret]"},
		{"GitHub token", "push with ghp_" + alnum36, "push with [redacted: GitHub token]"},
		{"GitHub token", "github_pat_11ABCDEFG0abcdefghijkl_" + alnum36, "[redacted: GitHub token]"},
		{"GitLab token", "glpat-abcdefghij1234567890", "[redacted: GitLab token]"},
		{"Slack token", "xoxb-123456789012-abcdefGHIJKL", "[redacted: Slack token]"},
		{"Slack token", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXX", "https://[redacted: Slack token]"},
		{"API key", "sk-" + alnum36, "[redacted: API key]"},
		{"API key", "sk-proj-" + alnum36 + "-" + alnum36 + "_x", "[redacted: API key]"},
		{"API key", "sk-ant-api03-" + alnum36, "[redacted: API key]"},
		{"API key", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted: API key]"},
		{"JWT", "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N", "jwt [redacted: JWT]"},
		{"bearer token", "Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [redacted: bearer token]"},
		{"password", "https://ada:hunter2@example.com/x?y", "https://ada:[redacted: password]@example.com/x?y"},
		{"password", "password=hunter2", "password=[redacted: password]"},
		{"password", "DB_PASSWORD=correcthorse", "DB_PASSWORD=[redacted: password]"},
		{"password", "db:\n  password: correcthorse\n  port: 1", "db:\n  password: [redacted: password]\n  port: 1"},
		{"password", `{"password": "correct horse", "user": "ada"}`, `{"password": "[redacted: password]", "user": "ada"}`},
		{"password", `"{\"password\":\"hunter2\",\"n\":1}"`, `"{\"password\":\"[redacted: password]\",\"n\":1}"`},
		{"password", `pwd := "hunter22"`, `pwd := "[redacted: password]"`},
		{"password", "Server=db;User=ada;Password=secret!1;Port=1", "Server=db;User=ada;Password=[redacted: password];Port=1"},
		{"password", "mysqladmin --password hunter2 ping", "mysqladmin --password [redacted: password] ping"},
		{"password", "the password: hunter2, and more", "the password: [redacted: password], and more"},
		{"secret", "?api_key=abc123def456&x=1", "?api_key=[redacted: secret]&x=1"},
		{"secret", "CLIENT_SECRET='9fceb02d0ae598e95dc970b7'", "CLIENT_SECRET='[redacted: secret]'"},
	} {
		got, found := memory.Redact(tt.text)
		if got != tt.want || !slices.Equal(found, []string{tt.kind}) {
			t.Errorf("Redact(%q) = %q, %q\n want %q", tt.text, got, found, tt.want)
		}
		if again, more := memory.Redact(got); again != got || more != nil {
			t.Errorf("Redact of %q again = %q, %q", got, again, more)
		}
	}
}

func TestRedactLeavesAlone(t *testing.T) {
	for _, text := range []string{
		"", "-", "=", "password=", "password:", "--password", "token: ", "://", "a://b@c", "-----BEGIN ", "eyJ.eyJ",
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
		"id 123e4567-e89b-12d3-a456-426614174000",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
		"password: required", "The password is wrong: try again", "password = get_password()", "password=$PASSWORD", "password: ${DB_PASSWORD}",
		"password=<your password>", "password=****", `password: "{{ .Values.password }}"`, "password = settings.password", "connect(password=password)",
		"func login(user, password string) error", "PASSWORD=", "if password == \"\" {",
		"max_tokens=4096", "tokens: 512", "token: string", "next_token = lexer.next()", "prompt_tokens=1234567890", "a token: the smallest piece",
		"secret: nobody knows what happened", "key=value", "monkey=banana12345",
		"class sk-button-primary-large-rounded-outline", "the task-list-of-everything-1234", "risk-" + strings.Repeat("a1", 20),
		"bearer of bad news, twice in a row", "Bearer authentication-is-described-there",
		"http://localhost:8080/a@b", "git@github.com:ada/shop.git", "ssh://git@host:22/x", "mail ada@example.com",
		"AKIA is how they begin", "ghp_short", "hf_transformers_and_other_things_we_use",
		"let password;", "passwordless login", "compass=north",
	} {
		if got, found := memory.Redact(text); got != text || found != nil {
			t.Errorf("Redact(%q) = %q, %q", text, got, found)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, seed := range []string{"password=hunter2", `"token": "abc123def456"`, "--api-key x -----BEGIN PRIVATE KEY-----", "a://b:c@d", "sk-\\\"=:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, found := memory.Redact(text)
		if (got != text) != (len(found) > 0) && !strings.Contains(text, "[redacted") {
			t.Errorf("Redact(%q) = %q, %q", text, got, found)
		}
	})
}
