package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

// runLimits is how long a run may take, how much of a long conversation the
// model is shown, and whether its answers are checked. What is absent stays nil.
type runLimits struct {
	Timeout           *duration `toml:"timeout"`
	FirstTokenTimeout *duration `toml:"first_token_timeout"`
	StepTimeout       *duration `toml:"step_timeout"`
	MaxTime           *duration `toml:"max_time"`

	MaxContextTokens    *int `toml:"max_context_tokens"`
	MaxToolResultTokens *int `toml:"max_tool_result_tokens"`
	SummarizeAfterTurns *int `toml:"summarize_after_turns"`
	KeepRecentTurns     *int `toml:"keep_recent_turns"`

	SelfEval *string `toml:"self_eval"`
}

// duration is a time span as it stands in the configuration: "90s", "10m", or a
// bare 0.
type duration time.Duration

// UnmarshalText reads what time.ParseDuration reads.
func (d *duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is no time span; write it as 90s, 10m or 1h30m", term.Echoed(string(b)))
	}
	*d = duration(v)
	return nil
}

func runLimitFlags() []cli.Flag {
	span := func(name, usage, byDefault, env string) cli.Flag {
		return &cli.DurationFlag{Name: name, Usage: usage, DefaultText: byDefault, EnvVars: []string{env}}
	}
	number := func(name, usage, byDefault, env string) cli.Flag {
		return &cli.IntFlag{Name: name, Usage: usage, DefaultText: byDefault, EnvVars: []string{env}}
	}
	return []cli.Flag{
		span("timeout", "`TIME` to wait for the next piece of a reply", "60s", "MYLM_TIMEOUT"),
		span("first-token-timeout", "`TIME` to wait for a reply to begin, loading the model included", "10m", "MYLM_FIRST_TOKEN_TIMEOUT"),
		span("step-timeout", "the most `TIME` of one whole reply; 0 is no limit", "0", "MYLM_STEP_TIMEOUT"),
		span("max-time", "the most `TIME` of the whole run; 0 is no limit", "0", "MYLM_MAX_TIME"),
		number("max-context-tokens", "the most `TOKENS` of conversation and reply; older steps are left out beyond it; 0 never leaves any out", "what the model has", "MYLM_MAX_CONTEXT_TOKENS"),
		number("max-tool-result-tokens", "how many `TOKENS` of a tool's output the model is shown; 0 is all", "2000, or a third of a small window", "MYLM_MAX_TOOL_RESULT_TOKENS"),
		number("summarize-after-turns", "sum up older steps after so `MANY`; 0 never does", "8, once half of the window is full", "MYLM_SUMMARIZE_AFTER_TURNS"),
		number("keep-recent-turns", "how `MANY` of the last steps are not summed up", "4", "MYLM_KEEP_RECENT_TURNS"),
		&cli.StringFlag{Name: "self-eval", Usage: "have the model check its answer: off, basic (say if it does not pass) or full (and try again)", DefaultText: "off", EnvVars: []string{"MYLM_SELF_EVAL"}},
		&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "run nothing that writes, runs programs or uses the network; say what it would do"},
	}
}

func takeRunLimits(c *cli.Context) (l runLimits) {
	span := func(name string) duration { return duration(c.Duration(name)) }
	take(c, "timeout", span, &l.Timeout)
	take(c, "first-token-timeout", span, &l.FirstTokenTimeout)
	take(c, "step-timeout", span, &l.StepTimeout)
	take(c, "max-time", span, &l.MaxTime)
	take(c, "max-context-tokens", c.Int, &l.MaxContextTokens)
	take(c, "max-tool-result-tokens", c.Int, &l.MaxToolResultTokens)
	take(c, "summarize-after-turns", c.Int, &l.SummarizeAfterTurns)
	take(c, "keep-recent-turns", c.Int, &l.KeepRecentTurns)
	take(c, "self-eval", c.String, &l.SelfEval)
	return l
}

// check finds values that cannot be meant.
func (l runLimits) check() error {
	var errs []error
	span := func(name string, d *duration, least time.Duration) {
		if d != nil && time.Duration(*d) < least {
			errs = append(errs, fmt.Errorf("%s is %v; it must be at least %v", name, time.Duration(*d), least))
		}
	}
	number := func(name string, n *int, least int, orNone bool) {
		switch {
		case n == nil || *n >= least || *n == 0 && orNone:
		case orNone:
			errs = append(errs, fmt.Errorf("%s is %d; it must be at least %d, or 0 to turn it off", name, *n, least))
		default:
			errs = append(errs, fmt.Errorf("%s is %d; it must be at least %d", name, *n, least))
		}
	}
	span("timeout", l.Timeout, time.Millisecond)
	span("first_token_timeout", l.FirstTokenTimeout, time.Millisecond)
	span("step_timeout", l.StepTimeout, 0)
	span("max_time", l.MaxTime, 0)
	number("max_context_tokens", l.MaxContextTokens, 256, true)
	number("max_tool_result_tokens", l.MaxToolResultTokens, 32, true)
	number("summarize_after_turns", l.SummarizeAfterTurns, 1, true)
	number("keep_recent_turns", l.KeepRecentTurns, 1, false)
	if l.SelfEval != nil && !slices.Contains([]string{"off", "basic", "full"}, *l.SelfEval) {
		errs = append(errs, fmt.Errorf("self_eval is %q; it must be off, basic or full", term.Echoed(*l.SelfEval)))
	}
	return errors.Join(errs...)
}

// over lays l over m: what l sets counts, the rest is m's.
func (l runLimits) over(m runLimits) runLimits {
	return runLimits{
		Timeout: either(l.Timeout, m.Timeout), FirstTokenTimeout: either(l.FirstTokenTimeout, m.FirstTokenTimeout),
		StepTimeout: either(l.StepTimeout, m.StepTimeout), MaxTime: either(l.MaxTime, m.MaxTime),
		MaxContextTokens: either(l.MaxContextTokens, m.MaxContextTokens), MaxToolResultTokens: either(l.MaxToolResultTokens, m.MaxToolResultTokens),
		SummarizeAfterTurns: either(l.SummarizeAfterTurns, m.SummarizeAfterTurns), KeepRecentTurns: either(l.KeepRecentTurns, m.KeepRecentTurns),
		SelfEval: either(l.SelfEval, m.SelfEval),
	}
}

func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// apply puts the limits into the options of an agent. A user turns one off with
// 0.
func (l runLimits) apply(o *agent.Options) {
	limit := func(n *int) agent.Limit {
		if n != nil && *n == 0 {
			return agent.Off
		}
		return agent.Limit(value(n))
	}
	o.TokenTimeout, o.FirstTokenTimeout = time.Duration(value(l.Timeout)), time.Duration(value(l.FirstTokenTimeout))
	o.StepTimeout, o.MaxTime = time.Duration(value(l.StepTimeout)), time.Duration(value(l.MaxTime))
	o.MaxContextTokens, o.MaxToolResultTokens = limit(l.MaxContextTokens), limit(l.MaxToolResultTokens)
	o.SummarizeAfterTurns, o.KeepRecentTurns = limit(l.SummarizeAfterTurns), value(l.KeepRecentTurns)
	o.SelfEval = agent.SelfEval(value(l.SelfEval))
}

// limitOf is the limit that ended a run; nil if it was something else.
func limitOf(r agent.Result) *agent.LimitError {
	var e *agent.LimitError
	errors.As(r.Err, &e)
	return e
}

// atLimit reports a limit that says all there is to say.
func atLimit(e *agent.LimitError) *failure.Error {
	f := &failure.Error{Code: failure.ExitPartial, Name: string(e.Reason), Err: e, Hint: failure.Advice(e)}
	if e.Reason == agent.StopTimeout {
		f.Code = failure.ExitTimeout
	}
	return f
}
