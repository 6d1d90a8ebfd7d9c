package serve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/serve"
)

// What a reply cost that could not be used is counted, as are its corrections.
func TestMetrics(t *testing.T) {
	bad := protocol.EncodeCall("get_weather", json.RawMessage(`{}`))
	m := &fake{reply: func(_ string, n int) (string, providers.StopReason, error) {
		return []string{bad, "Hello.", bad, bad, bad}[n], providers.StopEnd, nil
	}}
	var records []serve.Record
	s := start(t, m, serve.Options{Log: func(r serve.Record) { records = append(records, r) }})
	for _, stream := range []bool{false, true} {
		post(t, s, surfaces[0].path, surfaces[0].request(stream, "x", nil))
	}
	_, text := do(t, s, get(t, s.URL+"/metrics"), nil)
	for _, line := range []string{
		`mylm_requests_total{api="openai",code="200"} 1`, `mylm_requests_total{api="openai",code="422"} 1`, `mylm_refusals_total{api="openai",reason="model_output_unusable"} 1`,
		`mylm_tokens_total{kind="prompt"} 40`, `mylm_tokens_total{kind="output"} 35`, "mylm_corrections_total 3", "mylm_requests_running 1", "mylm_queue_length 0",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	if len(records) < 2 || records[0].Corrections != 1 || records[1].Corrections != 2 || records[1].Usage.Output != 21 {
		t.Errorf("%+v", records)
	}
}
