package otlp_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/agent/durable/otel/otlp"
)

// output is what a process has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func build(t *testing.T, dir, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// collect starts a collector, and returns its address and a function that ends it
// and returns what it has received.
func collect(t *testing.T, program string) (address string, received func() string) {
	t.Helper()
	for range 5 { // another process may take the port in between
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address = l.Addr().String()
		l.Close()
		args := []string{"--config=yaml:receivers::otlp::protocols::http::endpoint: " + address, "--config=yaml:exporters::debug::verbosity: detailed", "--config=yaml:service::telemetry::metrics::level: none"}
		for _, signal := range []string{"traces", "metrics", "logs"} {
			args = append(args, "--config=yaml:service::pipelines::"+signal+"::receivers: [otlp]", "--config=yaml:service::pipelines::"+signal+"::exporters: [debug]")
		}
		out := &output{more: make(chan struct{}, 1)}
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		for failed := false; !failed && !strings.Contains(out.String(), "Everything is ready"); {
			select {
			case <-out.more:
			case <-ended:
				failed = true
			}
		}
		if !strings.Contains(out.String(), "Everything is ready") {
			t.Log(out)
			continue
		}
		return address, func() string {
			_ = cmd.Process.Signal(os.Interrupt)
			<-ended
			return out.String()
		}
	}
	t.Fatal("the collector does not start")
	return "", nil
}

// The example's run arrives at a real collector: spans below each other, metrics and
// logs, and nothing that was said.
func TestCollector(t *testing.T) {
	if testing.Short() {
		t.Skip("building the collector takes a minute of processor time")
	}
	address, received := collect(t, build(t, "../testdata/collector", "collector"))
	example := exec.Command(build(t, "../example", "example"), "list the files in .")
	example.Dir = t.TempDir()
	example.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address, "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test")
	if err := os.WriteFile(filepath.Join(example.Dir, "tulip.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := example.CombinedOutput(); err != nil || !strings.Contains(string(out), "tulip") {
		t.Fatalf("%v\n%s", err, out)
	}
	got := received()

	type span struct{ parent, name string }
	spans, path := map[string]span{}, map[string]int{}
	traces := map[string]bool{}
	for _, m := range regexp.MustCompile(`Span #\d+\n +Trace ID +: (\w+)\n +Parent ID +: (\w*)\n +ID +: (\w+)\n +Name +: (.*)\n`).FindAllStringSubmatch(got, -1) {
		traces[m[1]] = true
		spans[m[3]] = span{m[2], m[4]}
	}
	for _, s := range spans {
		name := s.name
		for above := s.parent; above != ""; above = spans[above].parent {
			name = spans[above].name + " > " + name
		}
		path[name]++
	}
	want := map[string]int{"invoke_agent example": 1, "invoke_agent example > turn": 2, "invoke_agent example > turn > chat": 2, "invoke_agent example > turn > execute_tool list_dir": 1}
	if fmt.Sprint(path) != fmt.Sprint(want) || len(traces) != 1 {
		t.Errorf("%d traces with the spans %v, want one with %v", len(traces), path, want)
	}
	for _, want := range []string{
		"service.name: Str(mylm-example)", "deployment.environment.name: Str(test)", "gen_ai.provider.name: Str(demo)",
		"Name: gen_ai.client.token.usage", "Name: gen_ai.client.operation.duration", "Name: mylm.run.turns", "EventName: mylm.agent_end", "mylm.stop_reason: Str(complete)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(got, "tulip") || strings.Contains(got, "list the files") {
		t.Error("what was said was exported")
	}
	if t.Failed() {
		t.Log(got)
	}
}

// A receiver that is not there costs no run, and is reported at the end.
func TestNobodyReceives(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it is never accepted from
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	o, stop, err := otlp.Start(t.Context(), "test")
	if err != nil || o.Tracers == nil || o.Meters == nil || o.Loggers == nil {
		t.Fatalf("%+v, %v", o, err)
	}
	_, span := o.Tracers.Tracer("test").Start(t.Context(), "lost")
	span.End()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := stop(ctx); err == nil {
		t.Error("what is lost is not reported")
	}
}
