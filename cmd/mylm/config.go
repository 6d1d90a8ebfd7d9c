package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"

	"github.com/BurntSushi/toml"
)

// settings is what can be set at the top of the configuration file and in each
// of its profiles. What is absent stays nil.
type settings struct {
	Model       *string  `toml:"model"`
	Host        *string  `toml:"host"`
	System      *string  `toml:"system"`
	Tools       []string `toml:"tools"`
	MaxTurns    *int     `toml:"max_turns"`
	Temperature *float64 `toml:"temperature"`
	Seed        *int     `toml:"seed"`
	MaxTokens   *int     `toml:"max_tokens"`
	NumCtx      *int     `toml:"num_ctx"`
	KeepAlive   *string  `toml:"keep_alive"`
	Think       *string  `toml:"think"`
	Embedder    *string  `toml:"embedder"`
	Memory      *bool    `toml:"memory"` // the model may look at what was remembered
	Save        *bool    `toml:"save"`   // what is said and done is remembered
	AllowHosts  []string `toml:"-"`      // of --allow-host and [web] together
	Confirm     *string  `toml:"confirm"`
	Tree        *bool    `toml:"tree"` // the model is shown what files there are

	runLimits
	Sandbox confinement `toml:"sandbox"`

	deny []string // rules of the configuration, whatever the profile
}

// config is the configuration file.
type config struct {
	settings
	Web      webSettings         `toml:"web"`
	Profiles map[string]settings `toml:"profiles"`
	Models   map[string]entry    `toml:"models"`
	Policy   denials             `toml:"policy"`
}

// configTemplate is what a new configuration file holds.
const configTemplate = `# mylm's configuration. A flag or a MYLM_* variable beats what stands here.

# model = "qwen3:8b"              # as "mylm models" lists them, provider/name, or demo
# host = "http://localhost:11434" # of Ollama; beats OLLAMA_HOST
# max_turns = 10
# max_time = "10m"               # of a whole run
# self_eval = "basic"             # have the model check its own answers
# temperature = 0.2
# num_ctx = 16384
# embedder = "built-in"           # of the memory: an embedding model, auto, built-in or none
# memory = false                  # the model gets no tools to search what was said before
# save = false                    # nothing of what is asked and answered is kept
# confirm = "confirm-all"         # ask about every call; or confirm-sensitive, or yolo

# tree = true                     # show the model what files there are

# [policy]
# deny = ["execute_command(git push)"] # never, whatever was allowed

# [web]
# allow_hosts = ["localhost:6060"] # web_fetch may fetch from there; it is for public hosts otherwise

# [sandbox]                       # of commands
# mode = "read-only"              # or workspace, or off
# allow_net = true
# reads = ["~/data"]              # beside the workspace, the system and toolchains
# env = ["NPM_TOKEN"]             # passed on although it looks like a secret

# [profiles.review]               # mylm ask --profile review "..."
# system = "You review code. Be brief."
# tools = ["read_file", "list_dir"]

# [models.work]                   # mylm ask -m work "..."
# provider = "openai"             # "mylm models --providers" lists them
# model = "gpt-4o-mini"
# base_url = "https://llm.example.com/v1"
# key_env = "WORK_API_KEY"        # the variable that holds the key
# context = 128000                # tokens, where the server does not tell
# temperature = 0.2
# headers = { X-Team = "blue" }
`

// configDir is where the configuration and the user's prompts are.
func configDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", failure.Config(fmt.Errorf("no directory for the configuration: %w", err)).WithHint("Set HOME, or MYLM_CONFIG to the path of the file.")
	}
	return filepath.Join(dir, "mylm"), nil
}

func configPath() (string, error) {
	if path := os.Getenv("MYLM_CONFIG"); path != "" {
		return path, nil
	}
	dir, err := configDir()
	return filepath.Join(dir, "config.toml"), err
}

// dataDir is where mylm keeps what it writes of itself: by the XDG base
// directory specification, and its equivalents elsewhere.
func dataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mylm"), nil
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "mylm", "data"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "mylm"), err
}

// loadConfig reads the configuration file. A missing file is an empty one,
// unless the user has named it.
func loadConfig() (*config, error) {
	path, err := configPath()
	if err != nil {
		return &config{}, nil // without a home there is no configuration
	}
	text, err := os.ReadFile(path)
	if isMissing(err) && os.Getenv("MYLM_CONFIG") == "" {
		return &config{}, nil
	}
	if isMissing(err) {
		return nil, failure.Config(fmt.Errorf("MYLM_CONFIG names %s, which does not exist", path)).WithHint("mylm config edit makes it; without MYLM_CONFIG the usual file is read")
	}
	if err != nil {
		return nil, failure.Config(err)
	}
	return parseConfig(path, string(text))
}

func parseConfig(path, text string) (*config, error) {
	bad := func(format string, args ...any) error {
		return failure.Config(fmt.Errorf("%s: "+format, append([]any{path}, args...)...)).WithHint("mylm config edit opens it")
	}
	var c config
	meta, err := toml.Decode(text, &c)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return nil, bad("line %d: %s", syntax.Position.Line, syntaxMessage(syntax))
	}
	if key := notTable(meta); key != "" {
		return nil, bad("%s must be a table: [%s], or name = value in braces", key, key)
	}
	if err != nil {
		return nil, bad("%s", typeMessage(err))
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		names := settingNames()
		if unknown[0][0] == "models" {
			names = entryNames
		}
		return nil, bad("there is no setting %q; there are: %s", unknown[0].String(), strings.Join(names, ", "))
	}
	for _, h := range c.holders() {
		if f := checkPrivate(path, h); f != nil {
			return nil, f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		e := c.Models[name]
		e.name = name
		if err := e.check(); err != nil {
			return nil, bad("%s: %v", e.where(), err)
		}
		c.Models[name] = e
	}
	for name, s := range c.Profiles {
		if err := s.check(); err != nil {
			return nil, bad("profile %q: %v", name, err)
		}
	}
	if err := errors.Join(c.check(), checkHosts("allow_hosts in [web]", c.Web.AllowHosts), c.Policy.check()); err != nil {
		return nil, bad("%v", err)
	}
	return &c, nil
}

// notTable is the first key that should be a table and is none, "" if there is
// none: the library passes over such a value in silence.
func notTable(meta toml.MetaData) string {
	for _, key := range meta.Keys() {
		last := key[len(key)-1]
		tables := key[0] == "models" || key[0] == "profiles" || (key[0] == "web" || key[0] == "policy" || key[0] == "sandbox") && len(key) == 1
		switch len(key) {
		case 1, 2:
		case 3:
			tables = key[0] == "models" && (last == "headers" || last == "settings") || key[0] == "profiles" && last == "sandbox"
		default:
			tables = false
		}
		if tables && meta.Type(key...) != "Hash" {
			return key.String()
		}
	}
	return ""
}

// syntaxMessage is what is wrong with a line. The library quotes what stands
// there, which may be a key without quotes.
func syntaxMessage(e toml.ParseError) string {
	if strings.HasPrefix(e.LastKey, "models.") || secretName().MatchString(e.LastKey) {
		return "this cannot be read; a setting is written name = \"value\""
	}
	return e.Message
}

// wrongType is how the library tells of a value that is of another type than
// its setting.
var wrongType = pattern(`^toml: (line \d+ )?\(last key "(.*)"\): incompatible types: .*; destination has type (\w+)$`)

var typeWords = map[string]string{
	"integer": "a whole number without quotes, such as 4096",
	"float":   "a number without quotes, such as 0.5",
	"string":  "text in quotes",
	"slice":   `a list, such as ["read_file"]`,
}

// typeMessage says what a value should be.
func typeMessage(err error) string {
	m := wrongType().FindStringSubmatch(err.Error())
	if m == nil || typeWords[m[3]] == "" {
		return err.Error()
	}
	where := ""
	if m[1] != "" {
		where = strings.TrimSpace(m[1]) + ": "
	}
	return where + m[2] + " must be " + typeWords[m[3]]
}

// settingNames are the settings that a configuration can have.
func settingNames() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[settings]()) {
		switch name := f.Tag.Get("toml"); {
		case name == "" || name == "-":
		case f.Type.Kind() == reflect.Struct:
			names = append(names, "["+name+"]")
		default:
			names = append(names, name)
		}
	}
	for f := range reflect.TypeFor[config]().Fields() {
		switch name := f.Tag.Get("toml"); f.Type.Kind() {
		case reflect.Map:
			names = append(names, "["+name+".NAME]")
		case reflect.Struct:
			if name != "" {
				names = append(names, "["+name+"]")
			}
		}
	}
	return names
}

// check finds values that cannot be meant. The same rules hold for flags.
func (s *settings) check() error {
	atLeast := func(name string, v *int, least int) error {
		if v != nil && *v < least {
			return fmt.Errorf("%s is %d; it must be at least %d", name, *v, least)
		}
		return nil
	}
	err := errors.Join(
		atLeast("max_turns", s.MaxTurns, 1),
		atLeast("max_tokens", s.MaxTokens, 1),
		atLeast("num_ctx", s.NumCtx, 256),
		s.Sandbox.check(),
		s.runLimits.check(),
	)
	if s.Temperature != nil && !(*s.Temperature >= 0 && *s.Temperature <= 10) { // so that NaN fails too
		err = errors.Join(err, fmt.Errorf("temperature is %v; it must be from 0 to 10", *s.Temperature))
	}
	if s.Embedder != nil && strings.TrimSpace(*s.Embedder) == "" {
		err = errors.Join(err, errors.New("embedder is empty; it must be auto, built-in, none, or an embedding model"))
	}
	if s.Think != nil && !slices.Contains([]string{"auto", "on", "off"}, *s.Think) {
		err = errors.Join(err, fmt.Errorf("think is %q; it must be auto, on or off", term.Echoed(*s.Think)))
	}
	return errors.Join(err, checkConfirm(s.Confirm))
}

// over lays s over t: what s sets counts, the rest is t's.
func (s settings) over(t settings) settings {
	pick := func(set bool, take func()) {
		if set {
			take()
		}
	}
	pick(s.Model != nil, func() { t.Model = s.Model })
	pick(s.Host != nil, func() { t.Host = s.Host })
	pick(s.System != nil, func() { t.System = s.System })
	pick(s.Tools != nil, func() { t.Tools = s.Tools })
	pick(s.MaxTurns != nil, func() { t.MaxTurns = s.MaxTurns })
	pick(s.Temperature != nil, func() { t.Temperature = s.Temperature })
	pick(s.Seed != nil, func() { t.Seed = s.Seed })
	pick(s.MaxTokens != nil, func() { t.MaxTokens = s.MaxTokens })
	pick(s.NumCtx != nil, func() { t.NumCtx = s.NumCtx })
	pick(s.KeepAlive != nil, func() { t.KeepAlive = s.KeepAlive })
	pick(s.Think != nil, func() { t.Think = s.Think })
	pick(s.Embedder != nil, func() { t.Embedder = s.Embedder })
	pick(s.Memory != nil, func() { t.Memory = s.Memory })
	pick(s.Save != nil, func() { t.Save = s.Save })
	pick(s.Confirm != nil, func() { t.Confirm = s.Confirm })
	pick(s.Tree != nil, func() { t.Tree = s.Tree })
	t.Sandbox = s.Sandbox.over(t.Sandbox)
	t.runLimits = s.runLimits.over(t.runLimits)
	return t
}

// profile returns the settings of a profile, none for "".
func (c *config) profile(name string) (settings, error) {
	if name == "" {
		return settings{}, nil
	}
	p, ok := c.Profiles[name]
	if !ok {
		known := make([]string, 0, len(c.Profiles))
		for n := range c.Profiles {
			known = append(known, n)
		}
		slices.Sort(known)
		f := failure.Config(fmt.Errorf("there is no profile %q in the configuration", term.Echoed(name)))
		if len(known) > 0 {
			return settings{}, f.WithHint("There are: " + strings.Join(known, ", "))
		}
		return settings{}, f.WithHint("It has none. A profile is a table [profiles." + term.Echoed(name) + "]: mylm config edit")
	}
	return p, nil
}
