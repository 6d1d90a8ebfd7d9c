package otel_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"mylm/agent"
	"mylm/agent/durable/otel"
	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// kit is a Telemetry whose reports stay in memory.
type kit struct {
	*otel.Telemetry
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	mu     sync.Mutex
	logs   []log.Record
}

func newKit(t *testing.T, o otel.Options) *kit {
	t.Helper()
	k := &kit{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	o.Tracers = trace.NewTracerProvider(trace.WithSyncer(k.spans))
	o.Meters = metric.NewMeterProvider(metric.WithReader(k.reader))
	o.Loggers = log.NewLoggerProvider(log.WithProcessor(log.NewSimpleProcessor(k)))
	var err error
	if k.Telemetry, err = otel.New(o); err != nil {
		t.Fatal(err)
	}
	return k
}

// Export implements log.Exporter.
func (k *kit) Export(_ context.Context, records []log.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range records {
		k.logs = append(k.logs, r.Clone())
	}
	return nil
}

func (*kit) Shutdown(context.Context) error   { return nil }
func (*kit) ForceFlush(context.Context) error { return nil }

// tree shows the spans, each below its parent, with its error.type.
func (k *kit) tree() string {
	spans := k.spans.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	known := map[string]bool{}
	for _, s := range spans {
		known[s.SpanContext.SpanID().String()] = true
	}
	var b strings.Builder
	var show func(parent, indent string)
	show = func(parent, indent string) {
		for _, s := range spans {
			above := s.Parent.SpanID().String()
			if above == parent || parent == "" && !known[above] {
				b.WriteString(indent + s.Name)
				if failure := value(s.Attributes, "error.type"); failure != "" || s.Status.Code == codes.Error {
					b.WriteString(" !" + failure)
				}
				b.WriteString("\n")
				show(s.SpanContext.SpanID().String(), indent+"  ")
			}
		}
	}
	show("", "")
	return b.String()
}

// span is the one of this name.
func (k *kit) span(t *testing.T, name string) (s tracetest.SpanStub) {
	t.Helper()
	for _, s = range k.spans.GetSpans() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no span %s in\n%s", name, k.tree())
	return s
}

// metrics are the sums of counters, and the counts and sums of histograms, by the
// values of their attributes.
func (k *kit) metrics(t *testing.T) map[string]string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := k.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			name := func(set attribute.Set) string {
				values := []string{m.Name}
				for _, kv := range set.ToSlice() {
					values = append(values, kv.Value.String())
				}
				return strings.Join(values, " ")
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					out[name(p.Attributes)] = fmt.Sprint(p.Value)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					out[name(p.Attributes)] = fmt.Sprint(p.Count, " ", p.Sum)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					out[name(p.Attributes)] = fmt.Sprint(p.Count, " ", p.Sum)
				}
			}
		}
	}
	return out
}

func value(attrs []attribute.KeyValue, key string) string {
	for _, kv := range attrs {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// wantAttrs are attributes "key=value" of a span.
func wantAttrs(t *testing.T, s tracetest.SpanStub, want ...string) {
	t.Helper()
	for _, w := range want {
		key, val, _ := strings.Cut(w, "=")
		if got := value(s.Attributes, key); got != val {
			t.Errorf("%s has %s = %q, want %q", s.Name, key, got, val)
		}
	}
}

// named is a scripted model with a name.
type named struct{ *scripted.Model }

func (named) Name() string { return "m" }

func call(name, args string) string { return protocol.EncodeCall(name, json.RawMessage(args)) }

type in struct {
	Text string `json:"text"`
}

// registry has tools that do what their names say.
func registry(t *testing.T, do map[string]func(context.Context, string) (tools.Result, error)) *tools.Registry {
	t.Helper()
	if do == nil {
		do = map[string]func(context.Context, string) (tools.Result, error){
			"echo":  func(_ context.Context, text string) (tools.Result, error) { return tools.Result{Text: text}, nil },
			"fail":  func(_ context.Context, text string) (tools.Result, error) { return tools.Result{}, errors.New(text) },
			"crash": func(_ context.Context, text string) (tools.Result, error) { panic(text) },
			"blocked": func(context.Context, string) (tools.Result, error) {
				return tools.Result{Blocked: []tools.Refusal{{Kind: "socket"}}}, errors.New("refused")
			},
			"lacks": func(context.Context, string) (tools.Result, error) {
				return tools.Result{Refused: []tools.Refusal{{Effect: tools.Writes, Kind: "write", What: "f"}}}, errors.New("refused")
			},
			"wait": func(ctx context.Context, _ string) (tools.Result, error) {
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			},
			"stuck": func(context.Context, string) (tools.Result, error) { time.Sleep(time.Hour); return tools.Result{}, nil },
		}
	}
	var all []*tools.Tool
	for name, f := range do {
		tool, err := tools.New(name, "Does it.", tools.Reads, func(ctx context.Context, in in) (tools.Result, error) { return f(ctx, in.Text) })
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool)
	}
	slices.SortFunc(all, func(a, b *tools.Tool) int { return cmp.Compare(a.Name, b.Name) })
	r, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newAgent(t *testing.T, o agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A program that does not export does not link the SDK.
func TestNoSDK(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if deps := string(out); !strings.Contains(deps, "go.opentelemetry.io/otel/trace\n") || strings.Contains(deps, "go.opentelemetry.io/otel/sdk") {
		t.Errorf("the package imports\n%s", deps)
	}
}

// What else observes a run or changes its effects still does, and the model keeps
// its name and what it reports about itself.
func TestInstrumentKeepsWhatIsThere(t *testing.T) {
	k := newKit(t, otel.Options{})
	var log []string
	o := agent.Options{Model: informed{named{scripted.Say("done")}}}
	o.Hooks.Observe = func(ctx context.Context, _ agent.Observed) (context.Context, func(agent.Event)) {
		log = append(log, "observed")
		return ctx, func(ev agent.Event) { log = append(log, ev.Payload.Type()) }
	}
	o.Effects = func(_ *agent.Session, real agent.Effects) agent.Effects {
		log = append(log, "effects")
		return real
	}
	s := agent.NewSession()
	if _, err := agent.Collect(newAgent(t, k.Instrument(o)).Run(t.Context(), s, "go")); err != nil {
		t.Fatal(err)
	}
	if got, want := k.tree(), "invoke_agent\n  turn\n    chat m\n"; got != want {
		t.Errorf("spans\n%s\nwant\n%s", got, want)
	}
	if got := strings.Join(log, " "); got != "effects observed turn_start text_delta turn_end agent_end" {
		t.Errorf("%s", got)
	}
	if setup := s.Entries()[0].Payload.(agent.RunEntry).Setup; setup.Model != "m" {
		t.Errorf("the record has the model %q", setup.Model)
	}
	info, err := k.Model(o.Model).(providers.Informer).Info(t.Context())
	if err != nil || info.Window != 4096 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := k.Model(scripted.Say()).(providers.Informer).Info(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a model that reports nothing: %v", err)
	}
	if _, err := agent.New(k.Instrument(agent.Options{})); err == nil {
		t.Error("an agent without a model")
	}
	silent, err := otel.New(otel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := newAgent(t, silent.Instrument(agent.Options{Model: scripted.Say("done")})).Ask(t.Context(), "go"); err != nil || r.Response != "done" {
		t.Errorf("%+v, %v", r, err)
	}
}

type informed struct{ named }

func (informed) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: 4096}, nil
}
