package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/providers/langchain"

	"github.com/urfave/cli/v2"
)

// modelsRun is one run of mylm models.
type modelsRun struct {
	cli      *cli.Context
	screen   *term.Screen
	settings config.Settings
	entries  map[string]config.Entry
}

// listed is a model as --json prints it. Only entries have Provider and Model.
type listed struct {
	providers.ModelInfo
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Score    *score `json:"score,omitempty"`
}

// score is the result of a model's last exam.
type score struct {
	Exam   string `json:"exam"`
	Suite  string `json:"suite"`
	Form   string `json:"form"`
	Passed int    `json:"passed"`
	Of     int    `json:"of"`
}

// String is the score in a few words.
func (s *score) String() string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d %s", s.Passed, s.Of, term.OneLine(term.Printable(s.Suite), 20))
	if s.Form != string(calling.ToolCode) {
		text += ", " + s.Form
	}
	return text
}

// lastScores are the results of each model's last exam that came to its end, with the
// prompt that every run has, and in the form that is set for the model if there is one
// in that. Exams that cannot be read are no reason not to list models.
func (l *modelsRun) lastScores() map[string]*score {
	all, _ := listExams(l.cli.Context)
	scores := map[string]*score{}
	for _, e := range all {
		if e.Stopped != "" || e.Exam.Prompt != "" {
			continue
		}
		name, form := modelKey(e.Exam.Model), cmp.Or(e.Exam.Form, string(calling.ToolCode))
		set := l.formOf(e.Exam.Model)
		if old := scores[name]; old == nil || form == set && old.Form != set {
			scores[name] = &score{e.Exam.ID, e.Exam.Suite, form, e.Total.Passed, e.Total.Of}
		}
	}
	return scores
}

// formOf is the form of calls that is set for a model; for auto, the default one.
func (l *modelsRun) formOf(model string) string {
	s := l.settings
	if e, ok := l.entries[model]; ok {
		s = append(config.Settings{e.Layer()}, s...)
	}
	if form := config.Form.Or(s, ""); slices.Contains(formNames(), form) {
		return form
	}
	return string(calling.ToolCode)
}

// modelKey is a model's name as exams and lists have it in common.
func modelKey(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, config.Ollama+"/"), ":latest")
}

// all lists the models of Ollama and the entries. If Ollama does not answer, the
// entries are still listed, and stderr reports the error.
func (l *modelsRun) all() error {
	models, host, err := l.installed(l.settings)
	if err != nil {
		if len(l.entries) == 0 || config.Host.From(l.settings).Kind == config.Flag || l.cli.Context.Err() != nil {
			return err
		}
		l.screen.Report(failure.Of(err))
	}
	if l.cli.Bool("json") {
		return l.printJSON(append(plain(models), l.configured()...))
	}
	if len(models) > 0 {
		if err := l.table(models); err != nil || len(l.entries) == 0 {
			return err
		}
		if _, err := io.WriteString(l.screen.Out, "\n"); err != nil {
			return err
		}
	}
	if len(l.entries) == 0 {
		return noModelsAt(host).WithHint(hintPull)
	}
	scores, head := l.lastScores(), ""
	if len(scores) > 0 {
		head = "\tSCORE"
	}
	w := l.screen.Columns("NAME\tPROVIDER\tMODEL\tKEY" + head)
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		e := l.entries[name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\n", name, e.Provider, setup.ServerText(e.Model), entryKeyText(e), column(head, scores[name]))
	}
	return w.Flush()
}

const hintPull = "Get one: ollama pull qwen3:8b"

// installed returns the models of Ollama, and its address.
func (l *modelsRun) installed(s config.Settings) (models []providers.ModelInfo, host string, err error) {
	client, err := setup.OllamaClient(s)
	if err != nil {
		return nil, "", err
	}
	models, err = setup.ListModels(l.cli.Context, l.screen, client)
	return models, client.Host(), err
}

// configured are the entries as models.
func (l *modelsRun) configured() (out []listed) {
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		e := l.entries[name]
		info := providers.ModelInfo{Name: name, Info: providers.Info{Chats: true}}
		if e.Context != nil {
			info.Window = *e.Context
		}
		out = append(out, listed{ModelInfo: info, Provider: e.Provider, Model: e.Model})
	}
	return out
}

// ofOllama lists the models of one Ollama server.
func (l *modelsRun) ofOllama(s config.Settings) error {
	models, host, err := l.installed(s)
	if err != nil {
		return err
	}
	return l.print(models, noModelsAt(host).WithHint(hintPull))
}

// ofProvider lists the models that a provider reports, by the names that
// --model takes.
func (l *modelsRun) ofProvider(e config.Entry) error {
	p, ok := langchain.Lookup(e.Provider)
	if !ok {
		return config.NoProvider(e.Provider)
	}
	if !p.Lists { // no key would change that
		return &providers.Error{Kind: providers.BadRequest, Permanent: true, Message: p.Title + " cannot list its models",
			Hint: "Look for their names in the documentation of " + p.Title + "."}
	}
	m, err := setup.OpenLangchain(e)
	if err != nil {
		return err
	}
	defer m.Close()
	var models []providers.ModelInfo
	err = setup.Patiently(l.cli.Context, l.screen, "asking "+p.Title, "Try again in a moment.", setup.AskPatience, func(ctx context.Context) error {
		models, err = m.Models(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for i := range models {
		models[i].Name = cmp.Or(e.Name, e.Provider) + "/" + models[i].Name
	}
	return l.print(models, noModelsAt(p.Title))
}

func (l *modelsRun) print(models []providers.ModelInfo, none *failure.Error) error {
	switch {
	case l.cli.Bool("json"):
		return l.printJSON(plain(models))
	case len(models) == 0:
		return none
	}
	return l.table(models)
}

func noModelsAt(where string) *failure.Error {
	return &failure.Error{Code: failure.ExitUnreachable, Name: string(providers.ModelMissing), Err: fmt.Errorf("no models at %s", where)}
}

// plain is models for JSON, never nil.
func plain(models []providers.ModelInfo) []listed {
	out := make([]listed, len(models))
	for i, m := range models {
		out[i].ModelInfo = m
	}
	return out
}

// printJSON prints models with the results of their last exams.
func (l *modelsRun) printJSON(all []listed) error {
	scores := l.lastScores()
	for i := range all {
		all[i].Score = scores[modelKey(all[i].Name)]
	}
	return term.PrintJSON(l.screen.Out, all)
}

// column is a score as one more column of a table, if it has that column.
func column(head string, s *score) string {
	if head == "" {
		return ""
	}
	return "\t" + s.String()
}

func (l *modelsRun) table(models []providers.ModelInfo) error {
	scores, head := l.lastScores(), ""
	if len(scores) > 0 {
		head = "\tSCORE"
	}
	w := l.screen.Columns("NAME\tSIZE\tCONTEXT\tCHANGED\tWHAT IT IS FOR" + head)
	for _, m := range models {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%s\n", setup.ServerText(m.Name), term.Bytes(m.Size), strings.TrimPrefix(setup.ContextText(m.Trained), "context "), modTime(m.Modified), uses(m), column(head, scores[modelKey(m.Name)]))
	}
	return w.Flush()
}

// providerListed is a provider in --json. The key itself is never shown.
type providerListed struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	NeedsKey bool     `json:"needs_key"`
	KeyVars  []string `json:"key_vars"`
	KeySet   bool     `json:"key_set"`
	BaseURL  string   `json:"base_url,omitempty"`
	Lists    bool     `json:"lists"`
	Missing  string   `json:"missing,omitempty"`
}

// native is Ollama through its own client, as a provider.
var native = langchain.Provider{Name: config.Ollama, Title: "Ollama", BaseVars: []string{"OLLAMA_HOST"}, BaseURL: "http://127.0.0.1:11434", Streams: true, Lists: true}

// providers lists the providers.
func (l *modelsRun) providers() error {
	all := append([]langchain.Provider{native}, langchain.Providers()...)
	for i, p := range all {
		if set, _ := config.FirstSet(p.BaseVars); set != "" {
			all[i].BaseURL = config.MaskedText(set)
		}
	}
	if client, err := setup.OllamaClient(l.settings); err == nil {
		all[0].BaseURL = client.Host()
	}
	if l.cli.Bool("json") {
		out := []providerListed{}
		for _, p := range all {
			held, _ := config.FirstSet(p.KeyVars)
			out = append(out, providerListed{p.Name, p.Title, p.NeedsKey, append([]string{}, p.KeyVars...), held != "", p.BaseURL, p.Lists, p.Missing})
		}
		return term.PrintJSON(l.screen.Out, out)
	}
	w := l.screen.Columns("PROVIDER\tTITLE\tKEY\tADDRESS")
	for _, p := range all {
		where := cmp.Or(p.BaseURL, "in the configuration")
		if p.Missing != "" {
			where = "not in this build: " + term.OneLine(p.Missing, 200)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Name, p.Title, keyText(p), where)
	}
	return w.Flush()
}

// keyText reports where a provider's key is looked up, and whether it exists.
func keyText(p langchain.Provider) string {
	if len(p.KeyVars) == 0 {
		return "none"
	}
	switch _, name := config.FirstSet(p.KeyVars); {
	case name != "":
		return name + " (set)"
	case p.NeedsKey:
		return strings.Join(p.KeyVars, " or ") + " (not set)"
	}
	return strings.Join(p.KeyVars, " or ") + " (not set, not needed)"
}

// entryKeyText does the same for an entry.
func entryKeyText(e config.Entry) string {
	p, _ := langchain.Lookup(e.Provider)
	switch {
	case e.Key != "":
		return "in the configuration"
	case e.KeyEnv != "":
		p.KeyVars, p.NeedsKey = []string{e.KeyEnv}, true
	case e.Elsewhere(p):
		return "none"
	}
	return keyText(p)
}
