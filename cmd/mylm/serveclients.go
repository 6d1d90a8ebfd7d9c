package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"

	"github.com/urfave/cli/v2"
)

// client is a program that can ask mylm serve.
type client struct {
	name     string
	prompt   int    // tokens of its own prompt and tools, as measured or published; see docs/serve.md
	settings string // with {BASE}, {MODEL} and {KEY} to be replaced
}

var clients = []client{
	{"codex", 12_000, `# In ~/.codex/config.toml
model = "{MODEL}"
model_provider = "mylm"

[model_providers.mylm]
name = "mylm"
base_url = "{BASE}/v1"
wire_api = "responses"
env_key = "MYLM_KEY"          # export MYLM_KEY={KEY}
`},
	{"claude", 20_000, `# In the shell that starts claude
export ANTHROPIC_BASE_URL={BASE}
export ANTHROPIC_AUTH_TOKEN={KEY}
export ANTHROPIC_MODEL={MODEL}
export ANTHROPIC_DEFAULT_HAIKU_MODEL={MODEL}
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
`},
	{"opencode", 12_000, `// In opencode.json
{
  "$schema": "https://opencode.ai/config.json",
  "model": "mylm/{MODEL}",
  "provider": {
    "mylm": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "mylm",
      "options": { "baseURL": "{BASE}/v1", "apiKey": "{KEY}" },
      "models": { "{MODEL}": { "name": "{MODEL}", "tool_call": true } }
    }
  }
}
`},
	{"cline", 14_000, `# In Cline's settings
API Provider:  OpenAI Compatible
Base URL:      {BASE}/v1
API Key:       {KEY}
Model ID:      {MODEL}
`},
	{"continue", 4_000, `# In ~/.continue/config.yaml
name: mylm
version: 0.0.1
schema: v1
models:
  - name: {MODEL}
    provider: openai
    model: {MODEL}
    apiBase: {BASE}/v1
    apiKey: {KEY}
    roles: [chat, edit, apply]
    capabilities: [tool_use]
`},
	{"aider", 4_000, `# In the shell that starts aider
export OPENAI_API_BASE={BASE}/v1
export OPENAI_API_KEY={KEY}
aider --model openai/{MODEL}
`},
	{"qwen", 20_000, `# In the shell that starts qwen
export OPENAI_BASE_URL={BASE}/v1
export OPENAI_API_KEY={KEY}
export OPENAI_MODEL={MODEL}
`}, // Qwen Code
	{"crush", 12_000, `// In ~/.config/crush/crush.json, without this line
{
  "providers": {
    "mylm": {
      "type": "openai-compat",
      "base_url": "{BASE}/v1",
      "api_key": "{KEY}",
      "models": [{ "id": "{MODEL}", "name": "{MODEL}", "context_window": 32768, "default_max_tokens": 4096 }]
    }
  },
  "models": {
    "large": { "provider": "mylm", "model": "{MODEL}" },
    "small": { "provider": "mylm", "model": "{MODEL}" }
  }
}
`},
}

func clientNames() (names []string) {
	for _, c := range clients {
		names = append(names, c.name)
	}
	return names
}

// printClient prints the settings for one program, and whether the model's window has
// room for what it sends before any question.
func printClient(c *cli.Context, s *term.Screen, loaded *config.Config, name string) error {
	for _, known := range clients {
		if known.name != name {
			continue
		}
		models, err := setup.Serve(c.Context, loaded, s)
		if err != nil {
			return err
		}
		list, err := models.Real(c.Context)
		model := "MODEL"
		if err == nil && len(list) > 0 {
			model = strings.TrimSuffix(list[0].Name, ":latest")
		}
		key := "mylm"
		if env := c.String("key-env"); env != "" {
			key = cmp.Or(os.Getenv(env), "the key in "+env)
		}
		text := strings.NewReplacer("{BASE}", "http://"+c.String("addr"), "{MODEL}", setup.ServerText(model), "{KEY}", key).Replace(known.settings)
		if _, err := io.WriteString(s.Out, text); err != nil {
			return err
		}
		if err != nil || len(list) == 0 {
			s.Say("No model could be listed: put the name of one in place of MODEL.")
			return nil
		}
		sayWindow(c, s, models, known, list[0].Name)
		return nil
	}
	return failure.Usage("--for %s: there are settings for %s", term.Echoed(name), strings.Join(clientNames(), ", ")).
		WithHint(failure.Suggest(name, clientNames()) + "docs/serve.md says what any other program needs.")
}

// sayWindow says that a window is too small. One that cannot be asked for, without its key
// for instance, does not spoil the settings.
func sayWindow(c *cli.Context, s *term.Screen, models *setup.Served, known client, name string) {
	m, err := models.Open(c.Context, name)
	if err != nil {
		s.Say(fmt.Sprintf("The window of %s was not checked: %v", setup.ServerText(name), err))
		return
	}
	informer, ok := m.Model.(providers.Informer)
	if !ok {
		return
	}
	info, err := informer.Info(c.Context)
	if need := known.prompt * 5 / 4; err == nil && info.Window > 0 && info.Window < need {
		larger := ""
		if info.Trained >= need { // of Ollama
			larger = fmt.Sprintf("a larger one (mylm serve --num-ctx %d), or ", need)
		}
		s.Say(fmt.Sprintf("%s sends about %d tokens before any question, and the window of %s holds %d: choose %sanother model.",
			known.name, known.prompt, setup.ServerText(name), info.Window, larger))
	}
}
