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

// The quota on temporary space of other commands keeps a disk from filling up. It
// is more than a build takes.
var (
	askedTemp      int64 = 8 << 30
	askedTempFiles       = 500_000
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

// keyNames are names of files that hold keys, as path.Match reads them, in lower
// case. What publicNames match is none.
var (
	keyNames = []string{
		".env", ".env.*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "id_*",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg", ".s3cfg", ".boto",
		"credentials", "credentials.json", "secrets.*", ".secrets", "*.tfstate", "kubeconfig", "service-account*.json",
	}
	publicNames = []string{"*.example", "*.sample", "*.template", "*.dist", "*.pub", "id_*.*", "*.pub.asc"}
)

// keyLike reports whether the name of a file is one that keys usually have.
func keyLike(name string) bool {
	name = strings.ToLower(name)
	match := func(pattern string) bool { ok, _ := filepath.Match(pattern, name); return ok }
	return slices.ContainsFunc(keyNames, match) && !slices.ContainsFunc(publicNames, match)
}
