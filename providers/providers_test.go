package providers_test

import (
	"encoding/json"
	"testing"
	"time"

	"mylm/providers"
)

func TestModelInfoJSON(t *testing.T) {
	tests := []struct {
		info providers.ModelInfo
		want string
	}{
		{providers.ModelInfo{Name: "m"}, `{"name":"m","loaded":false,"chats":false,"thinks":false,"embeds":false}`},
		{
			providers.ModelInfo{
				Name: "m", Size: 7, Modified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
				Info: providers.Info{Window: 8192, Trained: 32768, Loaded: true, Chats: true, Thinks: true, Embeds: true},
			},
			`{"name":"m","size":7,"modified":"2026-01-02T03:04:05Z","window":8192,"trained":32768,"loaded":true,"chats":true,"thinks":true,"embeds":true}`,
		},
	}
	for _, tt := range tests {
		b, err := json.Marshal(tt.info)
		if err != nil || string(b) != tt.want {
			t.Errorf("%s, %v\nwant %s", b, err, tt.want)
		}
		var back providers.ModelInfo
		if err := json.Unmarshal(b, &back); err != nil || back != tt.info {
			t.Errorf("read back as %+v, %v", back, err)
		}
	}
}
