// Command prompt-tokens prints the system prompt with the 40 tools of the built-in exam, and
// writes the tools into a file, as JSON. See the script run.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"mylm/agent/eval"
	"mylm/prompts"
	"mylm/providers/calling"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: prompt-tokens FILE")
	}
	if err := show(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func show(file string) error {
	registry, err := eval.Core().Describe("of40-bus")
	if err != nil {
		return err
	}
	var all []calling.Definition
	for _, t := range registry.Tools() {
		all = append(all, calling.Definition{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	var d prompts.SystemData
	if err == nil {
		err = calling.ToolCode.Prompt(&d, prompts.Default(), all, nil, false)
	}
	if err != nil {
		return err
	}
	shown, err := prompts.Default().System(d)
	fmt.Println(shown)
	return err
}
