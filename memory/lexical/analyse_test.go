package lexical_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"mylm/memory/lexical"
)

func terms(text string) []string {
	var all []string
	for _, t := range lexical.Analyse(text).Terms {
		all = append(all, t.Term)
	}
	return all
}

func TestAnalyse(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"endings and function words", "The hosts were running", "host run"},
		{"irregular forms", "She bought what the children wrote", "buy child write"},
		{"case, accents, width", "MÜLLER Straße canción ＡＢＣ", "abc cancion muller strass"},
		{"decomposed accents", "Mu\u0308ller", "muller"},
		{"possessives", "Caroline's O'Brien’s", "brien carolin o"},
		{"won't is not won", "won't don’t won", "win"},
		{"snake case", "max_retry_size", "max max_retry_size retri size"},
		{"camel case", "parseConfig HTTPServer", "config http httpserver pars parseconfig server"},
		{"plurals of initials stay whole", "DVDs", "dvds"},
		{"a path, its elements and their parts", "/etc/nginx/nginx.conf", "conf etc etc/nginx/nginx.conf nginx nginx.conf"},
		{"backslashes are slashes", `src\main.go`, "go main main.go src src/main.go"},
		{"a version", "v1.2.3", "1 1.2.3 2 3 v v1 v1.2.3"},
		{"error codes", "TS2322 E_CONN CVE-2024-1", "1 2024 2322 conn cve cve-2024-1 e e_conn ts ts2322"},
		{"a hash has no parts", "3f2a9c1b", "3f2a9c1b"},
		{"languages with signs", "C++ C# c", "c c# c++"},
		{"Chinese", "我的猫", "我 我的 猫 的 的猫"},
		{"Japanese: a run ends where the script does", "猫のサーバ", "の サー ーバ 猫"},
		{"Thai", "แมวดำ", "ดํา มว วดํ แม"},
		{"Korean", "서버는", "버는 서버"},
		{"Cyrillic", "Ёлка ЗЕЛЁНАЯ", "елка зеленая"},
		{"vowel signs of Devanagari stay", "हिन्दी", "हिन्दी"},
		{"NUL and broken bytes separate", "heron\x00egret\xff\xfestork", "egret heron stork"},
		{"nothing", " \n…!", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(terms(tt.text), " "); got != tt.want {
				t.Errorf("terms of %q:\n got %s\nwant %s", tt.text, got, tt.want)
			}
		})
	}
}

func TestAnalyseCounts(t *testing.T) {
	d := lexical.Analyse("heron and Heron, herons: egret")
	want := []lexical.TermCount{{Term: "egret", Count: 1}, {Term: "heron", Count: 3}}
	if !slices.Equal(d.Terms, want) || d.Length != 4 {
		t.Errorf("got %v, length %d; want %v, 4", d.Terms, d.Length, want)
	}
	if d := lexical.Analyse(strings.Repeat("heron ", 70000)); d.Terms[0].Count != 65535 {
		t.Errorf("70,000 times a word: count %d, want 65535 for more", d.Terms[0].Count)
	}
}

func TestFlags(t *testing.T) {
	tests := []struct {
		text string
		want lexical.Flags
	}{
		{"I went there yesterday.", lexical.TimeWords},
		{"It was in 2019.", lexical.TimeWords},
		{"On the 3rd we left.", lexical.TimeWords},
		{"Ich war gestern dort.", lexical.TimeWords},
		{"La reunión es mañana.", lexical.TimeWords},
		{"我昨天去了。", lexical.TimeWords},
		{"The host is heron.", 0},
		{"What is the host called?", lexical.Asks},
		{"主机叫什么？", lexical.Asks},
		{"Right? The host that we use for staging is heron.", 0},
	}
	for _, tt := range tests {
		if got := lexical.Analyse(tt.text).Flags; got != tt.want {
			t.Errorf("%q: flags %b, want %b", tt.text, got, tt.want)
		}
	}
}

// bounded fails if a document is larger than Document says.
func bounded(t *testing.T, text string) {
	t.Helper()
	d := lexical.Analyse(text)
	for i, c := range d.Terms {
		if c.Term == "" || len(c.Term) > 64 || !utf8.ValidString(c.Term) || c.Count == 0 {
			t.Fatalf("term %q, %d times", c.Term, c.Count)
		}
		if i > 0 && d.Terms[i-1].Term >= c.Term {
			t.Fatalf("%q stands before %q", d.Terms[i-1].Term, c.Term)
		}
	}
}

func TestAnalyseIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var words, letters strings.Builder
	for words.Len() < 1<<20 {
		for range 5 {
			words.WriteByte(byte('a' + rng.IntN(26)))
		}
		words.WriteByte(' ')
	}
	for letters.Len() < 1<<20 {
		letters.WriteByte(byte(rng.IntN(256)))
	}
	var pairs strings.Builder
	for range 1 << 18 {
		pairs.WriteRune(rune(0x4E00 + rng.IntN(20000)))
	}
	for _, text := range []string{
		pairs.String(), words.String(), letters.String(), strings.Repeat("aB", 1<<19), strings.Repeat("a_", 1<<19), strings.Repeat("猫", 1<<18),
		strings.Repeat("ﷺ", 40), strings.Repeat("\u0301", 1<<18), "a" + strings.Repeat("\u0301", 1<<18),
	} {
		bounded(t, text)
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{"", "won't", "v1.2.3", "猫のサーバ", "a\u0301", "HTTPServer\xff", "/a/b_c.d", "C++", "ﷺ", "2023年5月8日"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bounded(t, text)
		if a, b := terms(text), terms(text); !slices.Equal(a, b) {
			t.Errorf("read twice: %q and %q", a, b)
		}
	})
}

func TestAnalyseAtOnce(t *testing.T) {
	want := terms("the staging host is called heron")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if got := terms("the staging host is called heron"); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
	wg.Wait()
}
