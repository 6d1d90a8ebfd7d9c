package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/prompts"
)

// Prompts are the templates, the user's before the built-in ones.
func Prompts() (*prompts.Set, error) {
	dir, err := config.Dir()
	if err != nil {
		return prompts.Default(), nil
	}
	dir = filepath.Join(dir, "prompts")
	if _, err := os.Stat(dir); config.IsMissing(err) {
		return prompts.Default(), nil
	}
	set, err := prompts.Load(dir)
	if err != nil {
		return nil, failure.Config(err)
	}
	return set, nil
}

// checkPrompts finds templates of the user's that are broken or say nothing.
func checkPrompts(set *prompts.Set) error {
	if err := set.Check(); err != nil {
		return failure.Config(err)
	}
	for _, name := range prompts.Names() {
		if set.Path(name) == "" {
			continue
		}
		var text string
		var err error
		switch name {
		case prompts.SystemPrompt:
			text, err = set.System(prompts.SystemData{Tools: "x", Environment: &prompts.Environment{}})
		case prompts.Correction:
			text, err = set.Correction(prompts.CorrectionData{Reason: "x", Detail: "x", Tool: "x", Example: "{}"})
		case prompts.Memory:
			text, err = set.Remembering(prompts.MemoryData{Save: true})
		case prompts.Tree:
			text, err = set.Files(prompts.TreeData{Tree: "x"})
		default:
			text, err = set.Example(name)
		}
		if err == nil && strings.TrimSpace(text) == "" {
			err = fmt.Errorf("%s says nothing (write the prompt there, or delete it to get the built-in one back)", set.Path(name))
		}
		if err != nil {
			return failure.Config(err)
		}
	}
	return nil
}
