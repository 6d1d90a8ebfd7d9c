package memory_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mylm/memory"
)

// facts are things that somebody tells an assistant: how it is told, a question
// that was asked about it then, the same in other words, and the word that
// answers both.
var facts = [][4]string{
	{"The staging host is called heron.", "which host is staging?", "what is the name of our staging machine?", "heron"},
	{"We deploy every Thursday at 16:00.", "when do we deploy?", "on which weekday does the deployment happen?", "Thursday"},
	{"The customer database runs on PostgreSQL 14.", "which database do customers use?", "what version is the customer database?", "PostgreSQL"},
	{"Backups are kept in the bucket coldstore-eu.", "where are the backups?", "which bucket holds our backups?", "coldstore-eu"},
	{"Marta is responsible for billing.", "who does billing?", "who is in charge of billing?", "Marta"},
	{"The VPN gateway listens on port 51820.", "which port has the VPN?", "what port does the gateway of the VPN use?", "51820"},
	{"Our coding style forbids tabs in YAML.", "are tabs allowed in YAML?", "what does the style say about YAML indentation?", "forbids tabs"},
	{"The log level in production is warn.", "what is the log level in production?", "how verbose are logs in production?", "warn"},
	{"Invoices go out from finance@lapwing.example.", "which address sends invoices?", "what email address are invoices sent from?", "finance@lapwing"},
	{"The frontend is built with pnpm, not npm.", "how is the frontend built?", "which package manager builds our frontend?", "pnpm"},
	{"The release branch is named trunk-stable.", "what is the release branch?", "from which branch do we cut a release?", "trunk-stable"},
	{"Integration tests need Docker 24 or later.", "what do integration tests need?", "which Docker do I need for the integration tests?", "Docker 24"},
	{"The office in Lyon closes at 18:30.", "when does the Lyon office close?", "until what time is the office in Lyon open?", "18:30"},
	{"My sister's birthday is the 9th of October.", "when is my sister's birthday?", "what day was my sister born?", "October"},
	{"The retry limit of the importer is 7.", "what is the importer's retry limit?", "how often does the importer retry?", "is 7"},
	{"Payment callbacks are signed with Ed25519.", "how are payment callbacks signed?", "which signature do callbacks of payments carry?", "Ed25519"},
	{"The metrics dashboard lives at grafana.lapwing.example.", "where is the metrics dashboard?", "what is the URL of the dashboard for metrics?", "grafana"},
	{"Jonas prefers reviews before noon.", "when does Jonas like reviews?", "at what time of day should I send Jonas a review?", "noon"},
	{"The cache expires after 45 minutes.", "when does the cache expire?", "how long are cache entries valid?", "45 minutes"},
	{"Feature flags are stored in Consul.", "where are feature flags?", "what stores the flags of features?", "Consul"},
	{"The printer on the third floor is out of toner.", "what is wrong with the printer?", "why does the third floor printer not work?", "toner"},
	{"The mobile app supports Android 10 and up.", "which Android does the app support?", "what is the oldest Android for our mobile app?", "Android 10"},
	{"Our SLA promises 99.95 percent.", "what does the SLA promise?", "how much availability is in the SLA?", "99.95"},
	{"The warehouse scanner speaks MQTT.", "what does the scanner speak?", "which protocol has the scanner in the warehouse?", "MQTT"},
	{"Nightly jobs start at 02:15 UTC.", "when do nightly jobs start?", "at which hour do the nightly jobs run?", "02:15"},
	{"The domain expires in March 2027.", "when does the domain expire?", "when must we renew the domain?", "March 2027"},
	{"Oleg speaks Finnish and Polish.", "which languages does Oleg speak?", "can Oleg talk to Finnish clients?", "Polish"},
	{"The API rate is limited to 300 requests a minute.", "what is the API rate limit?", "how many requests a minute does the API allow?", "300"},
	{"The old monolith is written in Perl.", "what is the monolith written in?", "which language was used for the old monolith?", "Perl"},
	{"Photos are resized to 1280 pixels.", "what size are photos?", "to how many pixels do we shrink photos?", "1280"},
	{"The license server is at 10.4.0.17.", "where is the license server?", "what IP has the server for licenses?", "10.4.0.17"},
	{"The standup moved to 9:45 in room Curie.", "where is the standup?", "in which room do we have the standup?", "Curie"},
	{"The search index is rebuilt with make reindex-all.", "how is the search index rebuilt?", "which make target rebuilds the search index?", "reindex-all"},
	{"The dog of the neighbours is called Biscuit.", "what is the neighbours' dog called?", "what name has our neighbours' dog?", "Biscuit"},
	{"Errors are reported to Sentry project 4412.", "where are errors reported?", "which Sentry project gets our errors?", "4412"},
	{"The terraform state is locked with DynamoDB.", "how is terraform state locked?", "what locks the state of terraform?", "DynamoDB"},
	{"Password resets are valid for 20 minutes.", "how long is a password reset valid?", "after what time does a reset of a password become invalid?", "20 minutes"},
	{"The sales demo uses tenant acme-7.", "which tenant is the sales demo?", "what tenant do we show in a sales demo?", "acme-7"},
	{"Elena is allergic to peanuts.", "what is Elena allergic to?", "what must Elena not eat? she has an allergy", "peanuts"},
	{"The message queue is limited to 64 KiB a message.", "how large may a message be?", "what is the limit of a message in the queue?", "64 KiB"},
}

// never are questions about what nobody said.
var never = []string{
	"what is the capital of Paraguay?", "who won the chess tournament?", "which wine goes with salmon?", "what colour is the bicycle of my uncle?",
	"when does the ferry to Tallinn leave?", "how tall is the lighthouse?", "what did the dentist recommend?", "which guitar strings should I buy?",
	"what is the serial number of the projector?", "who painted the portrait in the lobby?", "what is the combination of the gym locker?",
	"which tyre pressure is right for the trailer?", "where did grandmother grow up?", "what is the recipe for the pumpkin soup?",
	"how many chairs are in the auditorium?", "what is the call sign of the radio amateur?", "which seat did we book on the flight to Oslo?",
	"what is the name of the beekeeper?", "how deep is the well behind the barn?", "which opera did we see in Verona?",
}

// told records a run: a question or a statement, what tools printed, an answer.
func told(t *testing.T, s *memory.Store, session string, at time.Time, user, tool, answer string) {
	t.Helper()
	d := memory.Document{Session: session, Project: "p", Kind: memory.Exchange, Role: "user", Text: user, Time: at}
	all := []memory.Document{d}
	if tool != "" {
		d.Kind, d.Role, d.Text = memory.Tool, "tool", tool
		all = append(all, d)
	}
	d.Kind, d.Role, d.Text = memory.Exchange, "assistant", answer
	add(t, s, append(all, d)...)
}

// noisy is a memory of 40 facts and 160 runs of noise about them.
func noisy(t *testing.T) *memory.Store {
	s := fresh(t)
	rng := rand.New(rand.NewPCG(1, 2))
	at := day
	n := 0
	next := func() (string, time.Time) {
		n++
		at = at.Add(time.Hour)
		return fmt.Sprint("run", n), at
	}
	for i, f := range facts {
		session, at := next()
		switch i % 4 {
		case 0:
			add(t, s, memory.Document{Text: f[0], Project: "p", Kind: memory.Note, Time: at})
		case 1:
			told(t, s, session, at, "For later: "+f[0], "", "Understood, I will keep that in mind.")
		case 2:
			told(t, s, session, at, f[1], "", f[0])
		case 3:
			told(t, s, session, at, f[1], `read_file {"path":"notes.md"}`+"\n"+f[0], "According to the notes: "+f[0])
		}
	}
	var words []string
	for _, f := range facts {
		words = append(words, strings.Fields(f[0]+" "+f[1])...)
	}
	dump := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[rng.IntN(len(words))] + " ")
			if rng.IntN(9) == 0 {
				fmt.Fprintf(&b, "%d\n", rng.IntN(1000))
			}
		}
		return b.String()
	}
	for range 160 {
		session, at := next()
		f := facts[rng.IntN(len(facts))]
		switch rng.IntN(4) {
		case 0:
			told(t, s, session, at, f[1], "", f[0])
		case 1:
			told(t, s, session, at, "summarise this log", `execute_command {"command":"cat app.log"}`+"\n"+dump(90), "The log shows "+dump(8)+".")
		case 2:
			told(t, s, session, at, "what do you think about "+strings.TrimSuffix(strings.Join(strings.Fields(f[1])[1:], " "), "?")+"?", "",
				"It depends: "+dump(25)+"and so there is no general answer.")
		case 3:
			told(t, s, session, at, "list the files", `list_dir {"path":"."}`+"\n"+dump(40), "There are "+fmt.Sprint(rng.IntN(90))+" files.")
		}
	}
	return s
}

// TestNoise: what was told is found after much else was said about the same, and
// nothing is found where nothing was said.
func TestNoise(t *testing.T) {
	s := noisy(t)
	first, five := 0, 0
	for _, f := range facts {
		hits := search(t, s, memory.Query{Text: f[2], Projects: []string{"p"}})
		at := -1
		for i, h := range hits {
			if at < 0 && strings.Contains(h.Text, f[3]) {
				at = i
			}
		}
		if at == 0 {
			first++
		}
		if at >= 0 {
			five++
		}
		if at != 0 {
			t.Logf("%q: %d", f[2], at)
			for _, h := range hits {
				t.Logf("    %.2f %s %.90q %s", h.Found.Score, h.Role, h.Text, h.Why())
			}
		}
	}
	if first < 33 || five < 38 {
		t.Errorf("first for %d, in the first five for %d of %d", first, five, len(facts))
	}
	found := 0
	for _, q := range never {
		if hits := search(t, s, memory.Query{Text: q, Projects: []string{"p"}}); len(hits) > 0 {
			found++
			t.Logf("%q finds %.90q: %s", q, hits[0].Text, hits[0].Why())
		}
	}
	if found > 2 {
		t.Errorf("%d of %d questions about what never was find something", found, len(never))
	}
	t.Logf("first %d, five %d, never %d", first, five, found)
}

// TestNewest: of what was said about a thing that changed, the last comes first,
// however it was told.
func TestNewest(t *testing.T) {
	s := noisy(t)
	at := day.Add(1000 * time.Hour)
	for i, f := range facts[:20] {
		now := strings.Replace(f[0], f[3], fmt.Sprintf("zebra%d", i), 1)
		session := fmt.Sprint("later", i)
		switch i % 4 {
		case 0:
			add(t, s, memory.Document{Text: now, Project: "p", Kind: memory.Note, Time: at})
		case 1:
			told(t, s, session, at, "From now on: "+now, "", "Understood, I will keep that in mind.")
		case 2:
			told(t, s, session, at, f[1], "", now)
		case 3:
			told(t, s, session, at, f[1], `read_file {"path":"notes.md"}`+"\n"+now, "According to the notes: "+now)
		}
		at = at.Add(time.Hour)
	}
	wrong := 0
	for i, f := range facts[:20] {
		for _, q := range f[1:3] {
			hits := search(t, s, memory.Query{Text: q, Projects: []string{"p"}})
			if len(hits) == 0 || !strings.Contains(hits[0].Text, fmt.Sprint("zebra", i)) {
				t.Logf("%q: the first of %d is not the newest", q, len(hits))
				if wrong++; q == f[1] || wrong > 4 {
					t.Fail()
				}
				for _, h := range hits {
					t.Logf("    %.2f %s %.90q %s", h.Found.Score, h.Role, h.Text, h.Why())
				}
			}
		}
	}
}

// TestNewestStatement: a thing that changed is often told in a few more words than
// before, or in fewer.
func TestNewestStatement(t *testing.T) {
	for _, v := range [][3]string{
		{"Our wedding anniversary is on June 12.", "For later: our wedding anniversary is on May 3.", "when is our anniversary?"},
		{"Please note: the kiln must cool for 14 hours.", "The kiln must cool overnight.", "how long must the kiln cool?"},
		{"Noah's school starts at 8:05.", "According to the notes: Noah's school starts at noon.", "when does Noah's school start?"},
		{"FYI, load tests are done with k6.", "According to the notes: load tests are done with vegeta since spring.", "what are load tests done with?"},
		{"I moved the spare key into the meter cupboard.", "The spare key is with Mrs. Lund next door.", "where is the spare key?"},
		{"Please note: Поезд в Казань отходит в 23:10.", "Поезд в Казань отходит вечером.", "когда отходит поезд в Казань?"},
	} {
		s := fresh(t)
		add(t, s, memory.Document{Text: "Yesterday we met at the station.", Kind: memory.Note, Time: day},
			memory.Document{Text: v[0], Kind: memory.Note, Time: day}, memory.Document{Text: v[1], Kind: memory.Note, Time: day.Add(time.Hour)})
		if hits := search(t, s, memory.Query{Text: v[2]}); len(hits) != 2 || hits[0].Text != v[1] {
			t.Errorf("%q: found %q", v[2], textsOf(hits))
		}
	}
}

// TestNewestAnswer: an answer is newer than a note, however much better the note is
// found.
func TestNewestAnswer(t *testing.T) {
	s := fresh(t)
	for _, text := range []string{"Gloves are ordered from Medline.", "The supplier of paper is Igepa.", "The bell is out of order."} {
		add(t, s, memory.Document{Text: text, Kind: memory.Note, Project: "p", Time: day})
	}
	told(t, s, "a", day.Add(time.Hour), "where are gloves ordered?", "", "Gloves are ordered from Hartmann because of the price.")
	hits := search(t, s, memory.Query{Text: "which supplier do we order gloves from?"})
	if len(hits) == 0 || !strings.Contains(hits[0].Text, "Hartmann") {
		t.Errorf("found %q", textsOf(hits))
	}
}

// TestRequestIsNoAnswer: what only asks for something, though not in a question, does
// not come before what answers, and a word that names the kind of the answer does not
// keep an old value first.
func TestRequestIsNoAnswer(t *testing.T) {
	s := fresh(t)
	add(t, s, memory.Document{Text: "Deploys are rolled back with helm.", Project: "p", Kind: memory.Note, Time: day})
	told(t, s, "a", day.Add(time.Hour), "summarise this log", "", "The log shows command, deploy and rolled lines.")
	texts := textsOf(search(t, s, memory.Query{Text: "which command rolled back deploys"}))
	if len(texts) != 3 || texts[2] != "summarise this log" {
		t.Errorf("found %q", texts)
	}
	s = fresh(t)
	told(t, s, "a", day, "how cold must the vaccine fridge be?", "", "It must stay between 2 and 8 degrees, the vaccine fridge.")
	told(t, s, "b", day, "write a reminder for the team about the vaccine fridge", "", "Dear all, a few words about the vaccine fridge. Kind regards")
	texts = textsOf(search(t, s, memory.Query{Text: "what temperature is right for the vaccine fridge?"}))
	if len(texts) == 0 || !strings.Contains(texts[0], "degrees") {
		t.Errorf("found %q", texts)
	}
	s = fresh(t)
	add(t, s, memory.Document{Text: "The Vienna train leaves from platform 11.", Kind: memory.Note, Time: day},
		memory.Document{Text: "The Vienna train leaves from the new hall.", Kind: memory.Note, Time: day.Add(time.Hour)})
	if hits := search(t, s, memory.Query{Text: "from which platform does the Vienna train leave?"}); len(hits) == 0 || !strings.Contains(hits[0].Text, "hall") {
		t.Errorf("found %q", textsOf(hits))
	}
	s = fresh(t)
	told(t, s, "a", day, "how long is the kayak?", `read_file {"path":"boats.txt"}`+"\nOur kayak is 5.1 metres long.", "The file says so: Our kayak is 5.1 metres long.")
	told(t, s, "b", day, "write two sentences about how long the kayak is", "", "Here you are: people wonder how long is the kayak, and nobody agrees how long the kayak is.")
	if hits := search(t, s, memory.Query{Text: "how long is the kayak?"}); len(hits) == 0 || !strings.Contains(hits[0].Text, "5.1") {
		t.Errorf("found %q", textsOf(hits))
	}
	s = fresh(t)
	add(t, s, memory.Document{Text: "The kitchen tiles came from Modena.", Kind: memory.Note, Project: "p", Time: day})
	told(t, s, "a", day.Add(time.Hour), "write two sentences about where the kitchen tiles come from", "", "Many wonder where kitchen tiles come from. Nobody agrees.")
	if hits := search(t, s, memory.Query{Text: "which town were the tiles of the kitchen bought in?"}); len(hits) == 0 || !strings.Contains(hits[0].Text, "Modena") {
		t.Errorf("found %q", textsOf(hits))
	}
	s = fresh(t)
	told(t, s, "a", day, "how does the mobile team tag releases?", "", "The mobile team tags releases with the prefix app/.")
	told(t, s, "b", day, "write two sentences about how the mobile team tags its releases", "", "Many wonder how the mobile team tags releases. Nobody agrees.")
	if hits := search(t, s, memory.Query{Text: "how does the mobile team tag releases?"}); len(hits) == 0 || !strings.Contains(hits[0].Text, "app/") {
		t.Errorf("found %q", textsOf(hits))
	}
	s = fresh(t)
	told(t, s, "a", day, "which host is staging?", "", "The staging host is heron.")
	told(t, s, "b", day.Add(time.Hour), "find out which host is staging", `read_file {"path":"hosts"}`+"\nstaging wren", "The staging host is wren.")
	if hits := search(t, s, memory.Query{Text: "what is the staging host?"}); len(hits) == 0 || !strings.Contains(hits[0].Text, "is wren") {
		t.Errorf("found %q", textsOf(hits))
	}
}

// TestNothingBySlips: what the memory does not hold is not found by a word that is spelt
// like one of the question, nor by a word that any question may have.
func TestNothingBySlips(t *testing.T) {
	s := fresh(t)
	add(t, s, memory.Document{Text: "A cache miss lies behind it, says the file.", Kind: memory.Note}, memory.Document{Text: "The channel of the customers is open.", Kind: memory.Note},
		memory.Document{Text: "The last port of the list is in use.", Kind: memory.Note}, memory.Document{Text: "The proxies are up.", Kind: memory.Note})
	for _, q := range []string{"which novel is in the mess?", "what is the film about?", "how many subscriptions were cancelled?", "which port does the mail relay use?",
		"where was the offsite last year?", "who provides that?"} {
		if hits := search(t, s, memory.Query{Text: q}); len(hits) > 0 {
			t.Errorf("%q finds %q", q, textsOf(hits))
		}
	}
	if hits := search(t, s, memory.Query{Text: "which chanel is open?"}); len(hits) == 0 {
		t.Error("a slip finds nothing")
	}
}
