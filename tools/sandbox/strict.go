package sandbox

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Limits of a strict command. What looks at files takes a hundredth of them.
const (
	maxMemory    = 1 << 30   // bytes, of all its processes together
	maxTemp      = 256 << 20 // bytes below its private directories
	maxTempFiles = 5_000     // there
	maxTasks     = 512       // processes and threads at once
	maxOpen      = 1024      // descriptors of a process
)

// The quotas of other commands keep a disk from filling up, and the machine from
// standing still. They are more than a build takes.
var (
	askedTemp      int64 = 8 << 30
	askedTempFiles       = 500_000
	askedTasks           = 8192 // root is not held to RLIMIT_NPROC
)

// harmlessNames are the environment variables that a strict command gets, beside
// those that begin with one of harmlessPrefixes: how to show text, and where
// toolchains are.
var (
	harmlessNames = []string{
		"PATH", "PWD", "OLDPWD", "SHELL", "SHLVL", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TZDIR", "TERM", "COLUMNS", "LINES", "NO_COLOR", "PAGER",
		"GOROOT", "GOPATH", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOOS", "GOARCH", "CGO_ENABLED", "CC", "CXX",
		"JAVA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PYTHONUNBUFFERED", "RBENV_ROOT", "RBENV_VERSION", "NVM_DIR", "NVM_BIN", "VOLTA_HOME",
		"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "NIX_PROFILES", "SOURCE_DATE_EPOCH", "LD_LIBRARY_PATH",
		"GIT_OPTIONAL_LOCKS", "GIT_PAGER", "GIT_TERMINAL_PROMPT",
	}
	harmlessPrefixes = []string{"LC_"}
)

// strictSettings are added to its environment: what would write beside the files
// that are read, or read settings of the system, is turned off.
var strictSettings = []string{"PYTHONDONTWRITEBYTECODE=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
	"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=diff.autoRefreshIndex", "GIT_CONFIG_VALUE_0=false"}

// harmless reports whether a strict command gets a variable.
func harmlessVariable(name, value string) bool {
	return (slices.Contains(harmlessNames, name) || slices.ContainsFunc(harmlessPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })) &&
		!userInfo().MatchString(value) && !keyValue().MatchString(value)
}

var (
	// userInfo is a URL with a name or a password.
	userInfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*@`) })
	// keyValue is how keys of well-known services begin.
	keyValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|[^A-Za-z0-9])(sk-|sk_live_|rk_live_|xox[abprs]-|gh[opusr]_|github_pat_|glpat-|npm_|pypi-|hf_|AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9_\-.]{12,}|PRIVATE KEY`)
	})
)

// keyNames are names of files that hold keys, as path.Match reads them, in
// lower case. What publicNames match does not count.
var (
	keyNames = []string{
		".env", ".env.*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "id_*",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg", ".s3cfg", ".boto",
		"credentials", "credentials.json", "secrets.*", ".secrets", "*.tfstate", "kubeconfig", "service-account*.json",
	}
	publicNames = []string{"*.example", "*.sample", "*.template", "*.dist", "*.pub", "id_*.*", "*.pub.asc"}
)

// KeyLike reports whether the name of a file is one that keys usually have.
func KeyLike(name string) bool {
	name = strings.ToLower(name)
	match := func(pattern string) bool { ok, _ := filepath.Match(pattern, name); return ok }
	return slices.ContainsFunc(keyNames, match) && !slices.ContainsFunc(publicNames, match)
}

// secrets are parts of the names of environment variables that hold secrets.
var secrets = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"}

// secretWords are such parts if they are a word of several: PATH does not contain
// the word PAT, and PWD alone is the working directory.
var secretWords = []string{"PASS", "PWD", "PAT", "AUTH", "COOKIE"}

// Environ returns the variables of an environment that a command gets.
//
// In every mode the variables that SecretEnv names are left out, and those whose
// value is one of Secrets, or contains one that is long enough to be no
// coincidence. So are those that look like secrets by their names, unless Env names
// them: those with KEY, TOKEN, SECRET, PASSWORD and the like in them, in capitals
// or not, and those of several words, as X_PASS or X_PAT are, with PASS, PWD, PAT,
// AUTH or COOKIE among them. Names of sockets, which end in _SOCK, are passed on.
//
// A Strict command gets only variables of a short list, whatever Env says: how to
// show text, and where toolchains are; and not if they hold a URL with a name or
// password, or what looks like a key.
func (p Policy) Environ(env []string) []string {
	p = p.Resolved()
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		keep := !secretName(name) || slices.Contains(p.Env, name)
		if p.strict() {
			keep = harmlessVariable(name, value)
		}
		if keep && !slices.Contains(p.SecretEnv, name) && !p.holdsSecret(value) {
			out = append(out, kv)
		}
	}
	if p.strict() {
		out = append(out, strictSettings...)
	}
	return out
}

// noCoincidence is the length from which a secret is not part of another value by
// chance, as a password of "local" would be.
const noCoincidence = 8

func (p Policy) holdsSecret(value string) bool {
	return slices.ContainsFunc(p.Secrets, func(s string) bool {
		return s != "" && (value == s || len(s) >= noCoincidence && strings.Contains(value, s))
	})
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	words := strings.Split(name, "_")
	return slices.ContainsFunc(secrets, func(part string) bool { return strings.Contains(name, part) }) ||
		len(words) > 1 && words[len(words)-1] != "SOCK" && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(secretWords, w) })
}
