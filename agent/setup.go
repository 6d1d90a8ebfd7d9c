package agent

// Setup is how a run was set up, as far as its record needs it to be understood
// or gone through again.
type Setup struct {
	Labels               map[string]string `json:"labels,omitempty"`
	Model                string            `json:"model,omitempty"` // its own name, if it has one
	Tools                []string          `json:"tools"`
	MaxTurns             int               `json:"max_turns"`
	MaxRepeatedCalls     int               `json:"max_repeated_calls"`
	MaxConsecutiveErrors int               `json:"max_consecutive_errors"`
	MaxMalformed         int               `json:"max_malformed"`
	MaxToolResultTokens  int               `json:"max_tool_result_tokens,omitempty"`
	SelfEval             SelfEval          `json:"self_eval,omitempty"`
	DryRun               bool              `json:"dry_run,omitempty"`
}

func (a *Agent) setup() *Setup {
	model := ""
	if m, ok := a.opts.Model.(interface{ Name() string }); ok {
		model = m.Name()
	}
	return &Setup{
		Labels: a.opts.Labels, Model: model, MaxToolResultTokens: int(a.opts.MaxToolResultTokens), Tools: append([]string{}, a.opts.Tools.Names()...), MaxTurns: a.opts.MaxTurns, MaxRepeatedCalls: a.opts.MaxRepeatedCalls,
		MaxConsecutiveErrors: a.opts.MaxConsecutiveErrors, MaxMalformed: a.opts.MaxMalformed,
		SelfEval: a.opts.SelfEval, DryRun: a.opts.DryRun,
	}
}

// counts reports whether what a backend counted in a run of this setup holds in
// one of the other: for the same model, shown as much.
func (s *Setup) counts(other *Setup) bool {
	return s != nil && s.Model != "" && s.Model == other.Model && s.Labels["model"] == other.Labels["model"] &&
		s.MaxToolResultTokens == other.MaxToolResultTokens
}

// entry is what the record holds of a reply, with all that a repeat is made of.
func (rep *reply) entry(p Purpose) ReplyEntry {
	return ReplyEntry{
		Purpose: p, Text: rep.text, Raw: rep.raw, Aside: rep.aside, Thought: rep.thought, Stop: rep.stop, Usage: &rep.usage,
	}
}

// spend adds what a reply cost.
func (s *State) spend(rep *reply) {
	s.Usage, s.UsagePartial = s.Usage.Add(rep.usage), s.UsagePartial || rep.partial
}

// message is the text of an error, "" for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
