package temporal_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers/scripted"
	"mylm/tools"
)

// payloads are kept in memory.
type payloads struct {
	mu   sync.Mutex
	all  map[string][]byte
	fail func(data []byte) error // of Get
}

func (p *payloads) Put(ctx context.Context, all map[string][]byte) error {
	if _, limited := ctx.Deadline(); !limited {
		return errors.New("it may take for ever")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string][]byte{}
	}
	for key, data := range all {
		p.all[key] = data
	}
	return nil
}

func (p *payloads) Get(ctx context.Context, keys []string) (map[string][]byte, error) {
	if _, limited := ctx.Deadline(); !limited {
		return nil, errors.New("it may take for ever")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string][]byte{}
	for _, key := range keys {
		if data, ok := p.all[key]; ok {
			if p.fail != nil {
				if err := p.fail(data); err != nil {
					return nil, err
				}
			}
			found[key] = data
		}
	}
	return found, nil
}

// Payloads come back as they were, are kept once, and one that is gone is an error.
func TestStorage(t *testing.T) {
	kept := &payloads{}
	driver := temporal.Storage(kept).Drivers[0]
	a := &common.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain"), "x": []byte("y")}, Data: []byte(`"long"`)}
	b := &common.Payload{Data: []byte{0, 255}}
	claims, err := driver.Store(converter.StorageDriverStoreContext{Context: t.Context()}, []*common.Payload{a, b, a})
	if err != nil || len(claims) != 3 || len(kept.all) != 2 {
		t.Fatalf("%d claims, %d kept, %v", len(claims), len(kept.all), err)
	}
	back, err := driver.Retrieve(converter.StorageDriverRetrieveContext{Context: t.Context()}, claims)
	if err != nil || !proto.Equal(back[0], a) || !proto.Equal(back[1], b) || !proto.Equal(back[2], a) {
		t.Errorf("%v, %v", back, err)
	}
	clear(kept.all)
	if _, err := driver.Retrieve(converter.StorageDriverRetrieveContext{Context: t.Context()}, claims); err == nil || !strings.Contains(err.Error(), "not there any more") {
		t.Error(err)
	}
}

// A call that writes is made once what it is given can be read, and was not made before.
func TestServerPayloadAway(t *testing.T) {
	storage, store, failed := &payloads{}, &store{}, 0
	storage.fail = func(data []byte) error {
		if bytes.Contains(data, []byte(`"name":"write","args"`)) && bytes.Contains(data, []byte(`"request"`)) && failed < 1 {
			failed++
			return errors.New("the database is away")
		}
		return nil
	}
	c := server(t, client.Options{ExternalStorage: temporal.Storage(storage)}).Client()
	b := &bench{}
	runs, err := temporal.New(agent.Options{Model: scripted.Say(call("write", strings.Repeat("long ", 200)), "It is done."), Tools: b.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	defer work(t, c, runs).Stop()
	var out temporal.Output
	if err := start(t, c, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes}).Get(t.Context(), &out); err != nil || out.StopReason != agent.StopComplete {
		t.Fatalf("%+v, %v", out, err)
	}
	if text := store.text(t, "s"); failed == 0 || len(b.ran) != 1 || strings.Contains(text, "unknown=true") {
		t.Errorf("%d reads failed, ran %d calls\n%s", failed, len(b.ran), text)
	}
}
