package failure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"mylm/agent"
	"mylm/internal/diskfull"
	"mylm/protocol"
	"mylm/providers"
	"mylm/tools"
)

// The exit codes; the package comment has the table.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitUnreachable = 3
	ExitDenied      = 4
	ExitPartial     = 5
	ExitMalformed   = 6
	ExitContextFull = 7
	ExitTimeout     = 124
	ExitInterrupted = 130
	ExitUnread      = 141
)

// Error is an error with all that the command reports about it.
type Error struct {
	Code int    // exit code
	Name string // error.code in --json
	Err  error
	Hint string // what the user can do about it; "" if there is nothing to say
}

// Error implements error.
func (f *Error) Error() string { return f.Err.Error() }

// Unwrap gives errors.Is and errors.As the cause.
func (f *Error) Unwrap() error { return f.Err }

// Usage is an error in the command line.
func Usage(format string, args ...any) *Error {
	return &Error{Code: ExitUsage, Name: "usage", Err: fmt.Errorf(format, args...)}
}

// Config is an error in the configuration.
func Config(err error) *Error {
	return &Error{Code: ExitUsage, Name: "config", Err: err}
}

// WithHint adds what the user can do about it.
func (f *Error) WithHint(hint string) *Error {
	f.Hint = hint
	return f
}

// Near is the name that a wrong one was probably meant to be, or "".
func Near(typed string, names []string) string {
	if near := tools.Unknown(typed, names).Near; len(near) > 0 {
		return near[0]
	}
	return ""
}

// Suggest is a question for the name that a wrong one was probably meant to be,
// with a space behind it, or "".
func Suggest(typed string, names []string) string {
	if near := Near(typed, names); near != "" {
		return "Did you mean " + near + "? "
	}
	return ""
}

// Of is err as an Error, with its exit code: the one it wraps, or one made for its kind.
func Of(err error) *Error {
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Code: ExitInterrupted, Name: string(agent.StopInterrupted), Err: ErrInterrupted}
	}
	var p *providers.Error
	if !errors.As(err, &p) {
		return &Error{Code: ExitError, Name: "internal", Err: err, Hint: Advice(err)}
	}
	f = &Error{Code: ExitError, Name: string(agent.StopModelError), Err: err, Hint: Advice(err)}
	switch p.Kind {
	case providers.Unreachable, providers.ModelMissing: // "unreachable", "model_missing"
		f.Code, f.Name = ExitUnreachable, string(p.Kind)
	case providers.Auth: // as a key that is missing
		f.Code, f.Name = ExitUsage, string(p.Kind)
	case providers.Overflow:
		f.Code, f.Name = ExitContextFull, string(agent.StopContextFull)
	case providers.Stalled:
		f.Code, f.Name = ExitTimeout, string(agent.StopTimeout)
	}
	return f
}

// ErrInterrupted is the end of a run that the user interrupted.
var ErrInterrupted = errors.New("interrupted")

// ErrReported marks an error that was printed already.
var ErrReported = errors.New("reported")

// adviceAt is what to do at a limit, by the option that set it.
var adviceAt = map[string]string{
	"MaxTurns":             "Allow more with --max-turns, or ask for less at once.",
	"MaxTime":              "Allow more with --max-time, ask for less at once, or try a faster model.",
	"StepTimeout":          "Allow more with --step-timeout, limit the length of a reply with --max-tokens, or try a faster model.",
	"FirstTokenTimeout":    "The backend may be overloaded or hung: look at its log, restart it, try a smaller model, or allow more time with --first-token-timeout.",
	"TokenTimeout":         "The backend may be overloaded or hung: look at its log, restart it, try a smaller model, or allow more time with --timeout.",
	"MaxContextTokens":     "Allow more with --max-context-tokens, let tools say less (--max-tool-result-tokens), or ask for less at once.",
	"MaxConsecutiveErrors": "The log above says what failed.",
	"MaxRepeatedCalls":     adviceCircles,
	"MaxRepetition":        "If it should repeat, allow more with --max-repetition; 0 is no limit. Otherwise rephrase the question, or try a larger model.",
	"MaxMalformed":         "The model does not keep to the form for tool calls. Try a larger model, or --think off if it only thinks.",
	"AnswerSchema":         "Use a simpler schema, ask more precisely, or try a larger model.",
	"SelfEval":             "Read the answer with care, ask more precisely, or try a larger model; --self-eval off leaves the check out.",
	"plan.MaxTurns":        "Allow more with --max-turns, or go on with what is left: mylm resume",
	"plan.MaxIterations":   "Go on with what is left: mylm resume",
}

const adviceCircles = "The model repeats itself: rephrase the question, or try a larger model."

// Advice is what to do about an error, the hint below its message; "" if that is enough.
func Advice(err error) string {
	var limit *agent.LimitError
	if errors.As(err, &limit) {
		return adviceAtLimit(limit)
	}
	var p *providers.Error
	switch {
	case diskfull.Is(err):
		var file *os.PathError
		if errors.As(err, &file) && file.Path == os.Stdout.Name() {
			return "Make room where the output goes."
		}
		return "Make room on that disk. If it is the one of sessions and memory, mylm ask --no-save keeps nothing there."
	case errors.Is(err, agent.ErrDiverged):
		return "Go on with a question of your own"
	case !errors.As(err, &p):
		return ""
	case p.Hint+p.Param != "":
		return strings.TrimSpace(p.Hint + "\n" + adviceOn(p))
	case p.Kind == providers.Overflow:
		return "Give the model a larger window (--num-ctx for Ollama; else context in the model's entry says what it really is),\n" +
			"let tools say less (--max-tool-result-tokens), or ask for less at once."
	case p.Kind == providers.RateLimited:
		return "Ask again then, choose another model, or look into the quota of the account there."
	}
	return ""
}

// adviceAtLimit names the flag of the limit that ended a run, as --max-time.
func adviceAtLimit(e *agent.LimitError) string {
	var unreadable *protocol.FormatError
	switch {
	case e.Reason == agent.StopStuck && e.Limit == "":
		return adviceCircles
	case errors.As(e.Err, &unreadable) && unreadable.Reason == protocol.Empty:
		return "The model said nothing. Try --think off if it only thinks, a larger window (--num-ctx), or another model."
	case errors.As(e.Err, &unreadable) && unreadable.Reason == protocol.Truncated:
		return "The last reply ended in the middle of a call. Allow longer replies (--max-tokens, for Ollama also --num-ctx),\n" +
			"ask for less at once, or try a larger model."
	case e.Reason == agent.StopIncomplete && e.Limit == "":
		return "The log above says what failed or was dropped. Once that is fixed: mylm resume"
	case e.Limit == "MaxTokens" && e.Reason == agent.StopContextFull && e.Err == nil && e.Value != 0: // the backend ignores it
		return "Allow longer replies (--max-tokens), or ask for a shorter answer."
	case e.Limit == "MaxTokens" && e.Reason == agent.StopContextFull:
		return "Limit the length of a reply (--max-tokens), ask for a shorter answer, or give the model a larger window\n" +
			"(--num-ctx for Ollama; else context in its [models.NAME] entry says how large it is)."
	case e.Limit == "MaxTokens" && e.Value == 0: // it is the backend's own
		return "Allow longer replies (--num-ctx for Ollama, else --max-tokens) or more turns (--max-turns), or ask for a shorter answer."
	case e.Limit == "MaxTokens":
		return "Allow longer replies (--max-tokens) or more turns (--max-turns), or ask for a shorter answer."
	}
	return adviceAt[e.Limit]
}

// adviceOn is the hint what to change about a request, by the parameter that its backend
// names: for the window, if there is too little memory.
func adviceOn(e *providers.Error) string {
	ollama := e.Backend == "ollama"
	switch e.Param {
	case providers.ParamAddress:
		if ollama {
			hint := "--host or OLLAMA_HOST sets the address, if it runs elsewhere.\n"
			if e.Status != 0 { // something answers
				hint += "Servers of other kinds are asked by -m PROVIDER/MODEL; `mylm models --providers` lists them.\n"
			}
			return hint +
				"Without a server, `mylm ask -m demo \"what files are here?\"` works with the built-in demo.\n" +
				"`mylm doctor` checks everything that a question needs."
		}
	case providers.ParamModel:
		if ollama {
			return "`mylm models` lists the installed models."
		}
		return fmt.Sprintf("`mylm models --provider %s` lists the models there are.", e.Backend)
	case providers.ParamWindow:
		if ollama {
			return "--num-ctx sets the window, as far as the model and the memory allow."
		}
	case providers.ParamMaxTokens:
		return "--max-tokens limits the reply; leave it out, or change it."
	case providers.ParamTemperature:
		return "Ask without --temperature."
	case providers.ParamSeed:
		return "Ask without --seed."
	case providers.ParamThink:
		return "Ask without --think."
	case providers.ParamForm:
		return "Ask with calls in another form, such as --form tool_call, or choose another model."
	case providers.ParamImages:
		return "Ask a model that sees; mylm models lists what those of Ollama can do."
	}
	return ""
}

// endCodes are the exit codes of ends that are no error of a library; Of gives the others.
var endCodes = map[agent.StopReason]int{
	agent.StopDenied: ExitDenied, agent.StopMalformed: ExitMalformed, agent.StopInterrupted: ExitInterrupted,
	agent.StopTimeout: ExitTimeout, agent.StopContextFull: ExitContextFull, agent.StopInternal: ExitError,
}

// Ended is the message and exit code of a run that has ended: nil if it is complete.
func Ended(r agent.Result) *Error {
	if r.StopReason == agent.StopComplete {
		return nil
	}
	f := &Error{Code: cmp.Or(endCodes[r.StopReason], ExitPartial), Name: string(r.StopReason), Err: r.Err, Hint: Advice(r.Err)}
	switch r.StopReason {
	case agent.StopDenied:
		f.Err = cmp.Or(r.Err, errDenied)
	case agent.StopMalformed, agent.StopRepeatedCall, agent.StopConsecutiveErrors:
		f.Err = fmt.Errorf("stopped: %w", r.Err)
	case agent.StopInterrupted:
		f.Err, f.Hint = ErrInterrupted, ""
	case agent.StopFinishOther:
		f.Err, f.Hint = fmt.Errorf("the reply is not complete: %v", r.Err), ""
	case agent.StopInternal:
		f.Name = "internal"
	default: // a limit, or a failure of the model
		var limit *agent.LimitError
		if !errors.As(r.Err, &limit) {
			return Of(r.Err)
		}
		f.Err = limit
	}
	return f
}

var errDenied = errors.New("a call was denied, and the model found no other way")
