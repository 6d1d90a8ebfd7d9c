package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"mylm/tools/policy"
	"mylm/tools/sandbox"
	"mylm/tools/web"
)

// The groups of flags in the help.
const (
	OfInput       = "Input"
	OfModel       = "Model"
	OfPermissions = "Permissions"
	OfMemory      = "Memory and sessions"
	OfPlans       = "Plan"
	OfLimits      = "Limits"
	OfOutput      = "Output"
)

// The settings, one row each.
var (
	// The model.
	ModelName   = add[string](Def{Group: OfModel, Key: "model", Flag: "model", Aliases: []string{"m"}, Var: "MYLM_MODEL", Usage: "`NAME` as mylm models lists it, PROVIDER/NAME, or demo", Default: "the last one used, or the only one there is", Example: `"qwen3:8b"`})
	ProfileName = add[string](Def{Group: OfModel, Flag: "profile", Var: "MYLM_PROFILE", Usage: "use [profiles.`NAME`] of the configuration"})
	Host        = add[string](Def{Group: OfModel, Key: "host", Flag: "host", Var: "MYLM_HOST", Usage: "`ADDRESS` of Ollama", Default: "OLLAMA_HOST, or http://127.0.0.1:11434", Example: `"http://localhost:11434"`})
	Temperature = add(Def{Group: OfModel, Key: "temperature", Flag: "temperature", Var: "MYLM_TEMPERATURE", Usage: "sampling temperature, a `NUMBER` from 0 to 10; 0 is the most predictable", Default: "the model's own", Example: "0.2", PerModel: true}, within(0, 10))
	Seed        = add[int](Def{Group: OfModel, Key: "seed", Flag: "seed", Var: "MYLM_SEED", Usage: "`NUMBER` that makes sampling repeatable", Default: "none", PerModel: true})
	MaxTokens   = add(Def{Group: OfModel, Key: "max_tokens", Flag: "max-tokens", Var: "MYLM_MAX_TOKENS", Usage: "maximum `TOKENS` per reply", Default: "the backend's own", PerModel: true}, atLeast(1))
	NumCtx      = add(Def{Group: OfModel, Key: "num_ctx", Flag: "num-ctx", Var: "MYLM_NUM_CTX", Usage: "context window in `TOKENS`, for Ollama", Default: "what is loaded, or a size that fits", Example: "16384"}, atLeast(256))
	KeepAlive   = add[string](Def{Group: OfModel, Key: "keep_alive", Flag: "keep-alive", Var: "MYLM_KEEP_ALIVE", Usage: "`TIME` that Ollama keeps the model in memory, such as 10m; -1 is no limit", Default: "the server's own"})
	Think       = add[string](Def{Group: OfModel, Key: "think", Flag: "think", Var: "MYLM_THINK", Usage: "whether the model thinks before it answers", Default: "auto: if it can", PerModel: true, Words: []string{"auto", "on", "off"}})

	Form = add[string](Def{Group: OfModel, Key: "form", Flag: "form", Var: "MYLM_FORM", Usage: "`FORM` in which calls are shown to the model; auto is the one that it was trained for, if that is known", Default: "tool_code", Example: `"tool_call"`, PerModel: true, Words: []string{"tool_code", "tool_call", "function", "invoke", "python_tag", "auto"}})

	// How long a run may take, and how much of it the model sees.
	Timeout              = add(Def{Group: OfLimits, Key: "timeout", Flag: "timeout", Var: "MYLM_TIMEOUT", Usage: "`TIME` to wait for the next piece of a reply", Default: "60s"}, atLeast(time.Millisecond))
	FirstTokenTimeout    = add(Def{Group: OfLimits, Key: "first_token_timeout", Flag: "first-token-timeout", Var: "MYLM_FIRST_TOKEN_TIMEOUT", Usage: "`TIME` to wait for a reply to begin, loading the model included", Default: "10m"}, atLeast(time.Millisecond))
	StepTimeout          = add(Def{Group: OfLimits, Key: "step_timeout", Flag: "step-timeout", Var: "MYLM_STEP_TIMEOUT", Usage: "maximum `TIME` of one whole reply; 0 is no limit", Default: "no limit"}, atLeast(time.Duration(0)))
	MaxTime              = add(Def{Group: OfLimits, Key: "max_time", Flag: "max-time", Var: "MYLM_MAX_TIME", Usage: "maximum `TIME` of the whole run, such as 10m; 0 is no limit", Default: "no limit", Example: `"10m"`}, atLeast(time.Duration(0)))
	MaxContextTokens     = add(Def{Group: OfLimits, Key: "max_context_tokens", Flag: "max-context-tokens", Var: "MYLM_MAX_CONTEXT_TOKENS", Usage: "maximum `TOKENS` of conversation and reply; older steps are left out beyond it; 0 never leaves any out", Default: "what the model has"}, orOff(256))
	MaxToolResultTokens  = add(Def{Group: OfLimits, Key: "max_tool_result_tokens", Flag: "max-tool-result-tokens", Var: "MYLM_MAX_TOOL_RESULT_TOKENS", Usage: "show the model at most `TOKENS` of a tool's output; 0 is all", Default: "2000, or a third of a small window"}, orOff(32))
	SummarizeAfterTurns  = add(Def{Group: OfLimits, Key: "summarize_after_turns", Flag: "summarize-after-turns", Var: "MYLM_SUMMARIZE_AFTER_TURNS", Usage: "summarize older steps after `NUMBER` of them; 0 never does", Default: "when the window is full"}, orOff(1))
	KeepRecentTurns      = add(Def{Group: OfLimits, Key: "keep_recent_turns", Flag: "keep-recent-turns", Var: "MYLM_KEEP_RECENT_TURNS", Usage: "leave the last `NUMBER` of steps out of a summary", Default: "4"}, atLeast(1))
	SelfEval             = add[string](Def{Group: OfLimits, Key: "self_eval", Flag: "self-eval", Var: "MYLM_SELF_EVAL", Usage: "have the model check its answer: off, basic (report if it does not pass) or full (and retry)", Default: "off", Example: `"basic"`, Words: []string{"off", "basic", "full"}})
	MaxTurns             = add(Def{Group: OfLimits, Key: "max_turns", Flag: "max-turns", Var: "MYLM_MAX_TURNS", Usage: "maximum `NUMBER` of replies of the model", Default: "10", Example: "10"}, atLeast(1))
	MaxRepeatedCalls     = add(Def{Group: OfLimits, Key: "max_repeated_calls", Flag: "max-repeated-calls", Var: "MYLM_MAX_REPEATED_CALLS", Usage: "end the run at `NUMBER` identical calls in a row; the last is not run", Default: "2"}, atLeast(2))
	MaxConsecutiveErrors = add(Def{Group: OfLimits, Key: "max_consecutive_errors", Flag: "max-consecutive-errors", Var: "MYLM_MAX_CONSECUTIVE_ERRORS", Usage: "end the run after `NUMBER` failed calls in a row", Default: "3"}, atLeast(1))
	MaxMalformed         = add(Def{Group: OfLimits, Key: "max_malformed", Flag: "max-malformed", Var: "MYLM_MAX_MALFORMED", Usage: "end the run after `NUMBER` unreadable replies in a row", Default: "3"}, atLeast(1))
	MaxRepetition        = add(Def{Group: OfLimits, Key: "max_repetition", Flag: "max-repetition", Var: "MYLM_MAX_REPETITION", Usage: "cut a reply off after `TOKENS` that repeat what is before them, and after ten times as many in a tool's arguments; 0 is no limit", Default: "1500"}, orOff(1))
	MaxIterations        = add(Def{Group: OfPlans, Key: "max_iterations", Flag: "max-iterations", Var: "MYLM_MAX_ITERATIONS", Usage: "take up at most `NUMBER` tasks of a plan", Default: "10, or twice the tasks if that is more"}, atLeast(1))
	PlanTurns            = add(Def{Group: OfPlans, Key: "plan_max_turns", Flag: "max-turns", Var: "MYLM_PLAN_MAX_TURNS", Usage: "maximum `NUMBER` of replies of the model in the whole plan", Default: "100"}, atLeast(1))
	DryRun               = add[bool](Def{Group: OfPermissions, Flag: "dry-run", Usage: "run nothing that writes, runs programs or uses the network; say what it would do"})

	// What the model is told, and what it can use.
	System      = add[string](Def{Group: OfModel, Key: "system", Flag: "system", Usage: "`TEXT` that says who the model is, at the top of the system prompt"})
	Tree        = add[bool](Def{Group: OfInput, Key: "tree", Flag: "tree", Var: "MYLM_TREE", Usage: "show the model what files there are in the workspace", Example: "true"})
	Notes       = add[bool](Def{Group: OfInput, Key: "project_file", Flag: "no-project-file", Var: "MYLM_NO_PROJECT_FILE", Usage: "do not show the model the project's AGENTS.md", Default: "true", Example: "false", Negated: true}).tightenedBy(onlyOff("project_file"))
	Tools       = add[[]string](Def{Group: OfPermissions, Key: "tools", Flag: "tools", Var: "MYLM_TOOLS", Usage: "offer only the tools `NAMES`, with commas between them, or none", Default: "all"})
	AlwaysTools = add[[]string](Def{Key: "tools.always", Usage: "tools of MCP servers that the model is always shown", Default: "none", Example: `["files__read_file"]`, TopOnly: true})
	AllowHosts  = add(Def{Group: OfPermissions, Key: "web.allow_hosts", Flag: "allow-host", Usage: "let web_fetch use `HOST`, or HOST:PORT, although it is not public (repeatable)", Example: `["localhost:6060"]`, TopOnly: true, Adds: true}, hosts)

	// How the answer is shown on a terminal.
	Color = add[string](Def{Group: OfOutput, Key: "color", Flag: "color", Var: "MYLM_COLOR", Usage: "whether to use colors", Default: "auto: on a terminal, unless NO_COLOR is set", Example: `"never"`, Words: []string{"auto", "always", "never"}})
	Raw   = add[bool](Def{Group: OfOutput, Key: "raw", Flag: "raw", Var: "MYLM_RAW", Usage: "show Markdown as the model writes it", Example: "true"})

	// Permissions.
	Workspace = add[string](Def{Group: OfInput, Flag: "workspace", Usage: "work in `DIRECTORY`: the model's paths and commands are relative to it", Default: "the current one"})
	Confirm   = add[string](Def{Group: OfPermissions, Key: "confirm", Flag: "confirm", Var: "MYLM_CONFIRM", Usage: "`MODE`: confirm-all asks about every call, confirm-sensitive about what may do more than read here, yolo about none", Default: "confirm-sensitive", Example: `"confirm-all"`, Words: []string{"confirm-all", "confirm-sensitive", "yolo"}}).tightenedBy(stricterConfirm)
	Unasked   = add[string](Def{Group: OfPermissions, Key: "policy.unasked", Flag: "unasked", Var: "MYLM_UNASKED", Usage: "`WHICH` commands run without a question: sandbox (any, but it can only read), readers (plain readers of the workspace) or never", Default: string(policy.Sandbox), Example: `"readers"`, Words: []string{"sandbox", "readers", "never"}}).tightenedBy(stricterUnasked)
	Yes       = add[bool](Def{Group: OfPermissions, Flag: "yes", Aliases: []string{"y"}, Usage: "allow every call without asking: --confirm yolo"})
	Deny      = add(Def{Key: "policy.deny", Usage: "calls that are never made, whatever was allowed", Example: `["execute_command(git push)"]`, TopOnly: true, Adds: true}, denials).
			tightenedBy(func(user, project []string) ([]string, error) { return project, nil })
	SandboxMode = add[string](Def{Group: OfPermissions, Key: "sandbox.mode", Flag: "sandbox", Var: "MYLM_SANDBOX", Usage: "what commands can write to: read-only (nothing), workspace or off (no sandbox)", Default: string(defaultSandbox(runtime.GOOS)), Example: `"read-only"`, Words: []string{"read-only", "workspace", "off"}}).tightenedBy(stricterSandbox)
	AllowNet    = add[bool](Def{Group: OfPermissions, Key: "sandbox.allow_net", Flag: "allow-net", Var: "MYLM_ALLOW_NET", Usage: "let commands in the sandbox use the network", Example: "true"}).
			tightenedBy(onlyOff("sandbox.allow_net"))
	SandboxReads = add(Def{Key: "sandbox.reads", Usage: "what commands can read beside the workspace, the system and toolchains", Example: `["~/data"]`}, absolute)
	SandboxEnv   = add(Def{Key: "sandbox.env", Usage: "variables that commands see although they look like secrets", Example: `["NPM_TOKEN"]`}, variableNames)

	// The memory.
	Embedder = add(Def{Group: OfMemory, Key: "embedder", Flag: "embedder", Var: "MYLM_EMBEDDER", Usage: "find memories by vectors of this model, too: `NAME`, auto or none", Default: "auto", Example: `"nomic-embed-text"`}, notBlank)
	Memory   = add[bool](Def{Group: OfMemory, Key: "memory", Flag: "no-memory", Var: "MYLM_NO_MEMORY", Usage: "do not let the model search what was remembered", Default: "true", Example: "false", Negated: true}).tightenedBy(onlyOff("memory"))
	Save     = add[bool](Def{Group: OfMemory, Key: "save", Flag: "no-save", Var: "MYLM_NO_SAVE", Usage: "save nothing: neither memories nor the session", Default: "true", Example: "false", Negated: true}).tightenedBy(onlyOff("save"))
)

// defaultSandbox is the mode of the sandbox where nothing sets it.
func defaultSandbox(platform string) sandbox.Mode {
	if platform == "linux" {
		return sandbox.Workspace
	}
	return sandbox.Off
}

// Sandbox is the effective mode of the sandbox.
func (c *Config) Sandbox() sandbox.Mode {
	return sandbox.Mode(SandboxMode.Or(c.Settings, string(defaultSandbox(c.platform()))))
}

// SandboxPossible reports whether this system can have a sandbox. Stored rules
// apply without one only if the user turned it off.
func (c *Config) SandboxPossible() bool { return c.platform() == "linux" }

func (c *Config) platform() string { return cmp.Or(c.Platform, runtime.GOOS) }

func atLeast[T int | time.Duration](least T) func(T) error {
	return func(v T) error {
		if v < least {
			return fmt.Errorf("it must be at least %v", least)
		}
		return nil
	}
}

// orOff is atLeast for a limit that 0 turns off.
func orOff(least int) func(int) error {
	return func(v int) error {
		if v != 0 && v < least {
			return fmt.Errorf("it must be at least %d, or 0 to turn it off", least)
		}
		return nil
	}
}

func within(from, to float64) func(float64) error {
	return func(v float64) error {
		if !(v >= from && v <= to) { // so that NaN fails too
			return fmt.Errorf("it must be from %v to %v", from, to)
		}
		return nil
	}
}

func notBlank(v string) error {
	if strings.TrimSpace(v) == "" {
		return errors.New("it must be auto, none, or an embedding model")
	}
	return nil
}

func absolute(paths []string) error {
	for _, path := range paths {
		if !filepath.IsAbs(path) && path != "~" && !strings.HasPrefix(path, "~/") {
			return fmt.Errorf("%q must be an absolute path or begin with ~/", path)
		}
		if filepath.Clean(path) == filepath.VolumeName(path)+string(filepath.Separator) {
			return fmt.Errorf("%q is everything; name the directories that commands need", path)
		}
	}
	return nil
}

func variableNames(names []string) error {
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "= \t\n$\x00") {
			return fmt.Errorf("%q is not the name of a variable", name)
		}
	}
	return nil
}

func hosts(v []string) error {
	if len(v) == 0 {
		return nil
	}
	if _, err := web.New(web.Options{AllowHosts: v}); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), web.Name+": "))
	}
	return nil
}

func denials(v []string) error {
	_, err := policy.New(policy.Options{Deny: v})
	return err
}

// onlyOff lets a project turn a setting off, and not on.
func onlyOff(key string) func(user, project bool) (bool, error) {
	return func(_, project bool) (bool, error) {
		if project {
			return false, looseError(key + " = true")
		}
		return false, nil
	}
}

// stricterConfirm, stricterUnasked and stricterSandbox let a project tighten the settings
// of the user, and nothing else.
func stricterConfirm(user, project string) (string, error) {
	if policy.Mode(project) == policy.Yolo {
		return "", errors.New(`confirm = "yolo": a project can ask for more questions, not for fewer`)
	}
	mode, err := policy.ParseMode(user)
	return string(mode.Stricter(policy.Mode(project))), err
}

func stricterUnasked(user, project string) (string, error) {
	unasked, err := policy.ParseUnasked(user)
	return string(unasked.Stricter(policy.Unasked(project))), err
}

func stricterSandbox(user, project string) (string, error) {
	if sandbox.Mode(project) == sandbox.Off {
		return "", looseError(`sandbox.mode = "off"`)
	}
	if user == "" {
		user = string(defaultSandbox(runtime.GOOS))
	}
	return string(sandbox.Stricter(sandbox.Mode(user), sandbox.Mode(project))), nil
}
