package langchain_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/langchain"
)

// picture is a request with two pictures in its only message.
func picture(types ...string) providers.Request {
	m := providers.Message{Role: providers.User, Text: "What is it?"}
	for _, kind := range types {
		m.Images = append(m.Images, providers.Image{Name: "a.png", Type: kind, Data: []byte("abc")})
	}
	return providers.Request{Messages: []providers.Message{m}}
}

// Each wire has its own form of a picture; YWJj is base64 for abc.
func TestImages(t *testing.T) {
	url := `{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}},{"type":"image_url","image_url":{"url":"data:image/webp;base64,YWJj"}}`
	openAI := `{"role":"user","content":[` + url + `,{"type":"text","text":"What is it?"}]}`
	forms := map[string]string{
		"anthropic": `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}},
			{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"YWJj"}},{"type":"text","text":"What is it?"}]}`,
		"googleai": `{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"YWJj"}},
			{"inlineData":{"mimeType":"image/webp","data":"YWJj"}},{"text":"What is it?"}]}`,
		"langchain-ollama": `{"role":"user","content":"What is it?","images":["YWJj","YWJj"]}`,
		"bedrock": `{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"YWJj"}}},
			{"image":{"format":"webp","source":{"bytes":"YWJj"}}},{"text":"What is it?"}]}`,
	}
	blind := map[string]bool{"deepseek": true, "maritaca": true, "ernie": true}
	for _, api := range fakeAPIs {
		t.Run(api.provider, func(t *testing.T) {
			f := newFake(t, api, api.says("a cat"))
			m := f.model(t)
			_, _, _, err := generate(t, m, picture(providers.ImagePNG, providers.ImageWebP))
			info, infoErr := m.Info(t.Context())
			if blind[api.provider] {
				wantCannotSee(t, err)
				if len(f.sent()) != 0 || infoErr != nil || info.Sees != providers.Unable {
					t.Errorf("sent %v, info %+v, %v", f.sent(), info, infoErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			form, own := forms[api.provider]
			if !own {
				form = openAI
			}
			var want any
			if err := json.Unmarshal([]byte(form), &want); err != nil {
				t.Fatal(err)
			}
			messages := f.sent()[0]["messages"]
			if api.provider == "googleai" {
				messages = f.sent()[0]["contents"]
			}
			if got := messages.([]any)[0]; !reflect.DeepEqual(got, want) {
				t.Errorf("went out %v\nwant %v", got, want)
			}
			if infoErr == nil && info.Sees == providers.Unable {
				t.Errorf("info %+v", info)
			}
		})
	}
}

func wantCannotSee(t *testing.T, err error) {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) || e.Param != providers.ParamImages || e.Kind != providers.BadRequest || e.Temporary() {
		t.Errorf("error %#v, want one about pictures", err)
	}
}

// What a backend would drop or refuse is refused before.
func TestRefusedImages(t *testing.T) {
	f := newFake(t, googleAPI, googleAPI.says("yes"))
	_, _, _, err := generate(t, f.model(t), picture(providers.ImageGIF))
	wantCannotSee(t, err)
	_, _, _, err = generate(t, f.model(t), picture("text/plain"))
	if err == nil || !strings.Contains(err.Error(), "text/plain") {
		t.Errorf("error %v, want one about the type", err)
	}
	if len(f.sent()) != 0 {
		t.Error("it was sent")
	}
}

// Of a model about which nothing is known, Options says whether it takes pictures.
func TestImagesOfAnyModel(t *testing.T) {
	var got []llms.ContentPart
	llm := model(func(_ context.Context, messages []llms.MessageContent, _ llms.CallOptions) (*llms.ContentResponse, error) {
		got = messages[0].Parts
		return response(llms.ContentChoice{Content: "a cat", StopReason: "stop"}), nil
	})
	_, _, _, err := generate(t, langchain.New(llm, langchain.Options{}), picture(providers.ImagePNG))
	wantCannotSee(t, err)
	if _, _, _, err = generate(t, langchain.New(llm, langchain.Options{Images: true}), picture(providers.ImagePNG)); err != nil {
		t.Fatal(err)
	}
	if want := []llms.ContentPart{llms.BinaryPart(providers.ImagePNG, []byte("abc")), llms.TextPart("What is it?")}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
