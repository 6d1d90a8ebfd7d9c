package temporal_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"mylm/agent/durable/temporal"
)

// payloads are kept in memory.
type payloads struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (p *payloads) Put(_ context.Context, all map[string][]byte) error {
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

func (p *payloads) Get(_ context.Context, keys []string) (map[string][]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string][]byte{}
	for _, key := range keys {
		if data, ok := p.all[key]; ok {
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
