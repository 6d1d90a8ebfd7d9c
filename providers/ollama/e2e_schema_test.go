//go:build linux

package ollama_test

import (
	"fmt"
	"os"
	"testing"

	"mylm/agent"
	"mylm/providers"
	"mylm/providers/internal/ollamatest"
	s "mylm/providers/internal/scriptmodel"
	"mylm/providers/ollama"
)

// The same of a real server, which constrains the correction, and, without tools,
// the first reply as well: every fourth schema, and all with MYLM_SLOW.
func TestEndToEndSchemas(t *testing.T) {
	m := &s.Model{Jinja: true, Default: "I am lost."}
	for n, c := range answerCases {
		for way, first := range map[string]string{"right": c.right, "near": c.near, "wrong": c.wrong} {
			asked := s.AnyContains(fmt.Sprintf("case %02d, %s", n, way))
			m.Scripts = append(m.Scripts,
				s.Script{When: []s.Cond{asked, s.LastContains("fits the schema")}, Say: c.right},
				s.Script{When: []s.Cond{asked}, Say: first})
		}
	}
	server := ollamatest.Start(t)
	server.Create(t, "schemas", m)
	client, err := ollama.New(ollama.Options{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	model := client.Model("schemas", ollama.ModelOptions{NumCtx: 8192})
	for n, c := range answerCases {
		if n%4 != 0 && os.Getenv("MYLM_SLOW") == "" {
			continue
		}
		c.answersAs(t, n, "Ollama", func(...string) providers.Model { return model })
		r, seen := c.asked(t, model, n, "right", false)
		if r.Response != c.right || r.StopReason != agent.StopComplete || seen.formats != c.constrained("Ollama") {
			t.Errorf("case %d, constrained %s: %q (%s, %v), want %q\n%s", n, seen.formats, r.Response, r.StopReason, r.Err, c.right, c.schema)
		}
	}
}
