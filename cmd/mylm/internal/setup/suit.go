package setup

import (
	"context"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/config"
	"mylm/providers"
	"mylm/providers/calling"
)

// Patience is how long a busy server is waited for; 0 is the agent's default.
// Tests shorten it.
var Patience time.Duration

// AgentOptions are the agent's options from the settings, without a model and tools.
func AgentOptions(s config.Settings) agent.Options {
	limit := func(r *config.Row[int]) agent.Limit {
		n, set := r.Lookup(s)
		if set && n == 0 {
			return agent.Off
		}
		return agent.Limit(n)
	}
	return agent.Options{
		Identity:             config.System.Of(s),
		Form:                 fixedForm(s),
		Compact:              smallWindow(config.NumCtx.Of(s)),
		MaxTurns:             config.MaxTurns.Of(s),
		MaxRepeatedCalls:     config.MaxRepeatedCalls.Of(s),
		MaxConsecutiveErrors: config.MaxConsecutiveErrors.Of(s),
		MaxMalformed:         config.MaxMalformed.Of(s),
		MaxTokens:            config.MaxTokens.Of(s),
		Temperature:          config.Temperature.Ptr(s),
		Seed:                 config.Seed.Ptr(s),
		Think:                thinking(config.Think.Of(s)),
		TokenTimeout:         config.Timeout.Of(s),
		FirstTokenTimeout:    config.FirstTokenTimeout.Of(s),
		StepTimeout:          config.StepTimeout.Of(s),
		MaxTime:              config.MaxTime.Of(s),
		Patience:             Patience,
		MaxContextTokens:     limit(config.MaxContextTokens),
		MaxToolResultTokens:  limit(config.MaxToolResultTokens),
		MaxRepetition:        limit(config.MaxRepetition),
		SummarizeAfterTurns:  limit(config.SummarizeAfterTurns),
		KeepRecentTurns:      config.KeepRecentTurns.Of(s),
		SelfEval:             agent.SelfEval(config.SelfEval.Of(s)),
		DryRun:               config.DryRun.Of(s),
	}
}

func thinking(s string) providers.Thinking {
	if s == "auto" {
		return providers.ThinkAuto
	}
	return providers.Thinking(s)
}

// fixedForm is the form of calls that the settings name; auto needs a model.
func fixedForm(s config.Settings) calling.Form {
	if form := config.Form.Of(s); form != formAuto {
		return calling.Form(form)
	}
	return ""
}

const formAuto = "auto"

// smallWindow reports whether a window is known, and too small for a long prompt.
func smallWindow(tokens int) bool { return 0 < tokens && tokens < 8192 }

// Suit sets the model of an agent, and what depends on it: the form of calls, and
// whether the prompt is for a small window.
func Suit(ctx context.Context, s config.Settings, m providers.Model, o *agent.Options) {
	o.Model = m
	o.Form, _ = formFor(ctx, s, m) // a run does with the default what it can
	windowed, ok := m.(interface {
		Window(ctx context.Context) (int, error)
	})
	if !ok || o.Compact {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	if n, err := windowed.Window(ctx); err == nil { // what is wrong shows when the model is asked
		o.Compact = smallWindow(n)
	}
}

// suit is Suit for the run. A server may take its time to answer, which shows.
func (s *Setup) suit(ctx context.Context) error {
	if !s.Model.Local() {
		defer s.Notify.Busy("asking about " + ServerText(s.Model.Name))()
	}
	Suit(ctx, s.Config.Settings, s.Model.Model, &s.Options)
	return ctx.Err()
}

// formFor is the form of calls for a model: the one that the settings name, or for auto
// the one that its backend says it was trained for, else the default. The error is that
// of a backend that does not answer.
func formFor(ctx context.Context, s config.Settings, m providers.Model) (calling.Form, error) {
	informer, ok := m.(providers.Informer)
	if config.Form.Of(s) != formAuto || !ok {
		return fixedForm(s), nil
	}
	info, err := informer.Info(ctx)
	form, unknown := calling.ParseForm(info.Form)
	if err != nil || unknown != nil {
		return "", err
	}
	return form, nil
}
