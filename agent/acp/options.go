package acp

import (
	"context"
	"slices"

	sdk "github.com/coder/acp-go-sdk"
)

// The configuration options of a session. The mode is one of them, too: an editor that
// has them does without modes.
const (
	optionMode  = "mode"
	optionModel = "model"
)

// selection is an option with its values.
func selection(id, name string, category sdk.SessionConfigOptionCategory, current string, values sdk.SessionConfigSelectOptionsUngrouped) sdk.SessionConfigOption {
	return sdk.SessionConfigOption{Select: &sdk.SessionConfigOptionSelect{
		Id: sdk.SessionConfigId(id), Name: name, Category: &category, CurrentValue: sdk.SessionConfigValueId(current), Options: sdk.SessionConfigSelectOptions{Ungrouped: &values},
	}}
}

// options are the configuration options with their values.
func (s *session) options() []sdk.SessionConfigOption {
	var values sdk.SessionConfigSelectOptionsUngrouped
	modes, mode := s.conversation.Modes()
	for _, m := range modes {
		values = append(values, sdk.SessionConfigSelectOption{Value: sdk.SessionConfigValueId(m.ID), Name: m.Name, Description: sdk.Ptr(m.Description)})
	}
	all := []sdk.SessionConfigOption{selection(optionMode, "Mode", sdk.SessionConfigOptionCategoryMode, mode, values)}
	current := s.conversation.Model()
	if current == "" {
		return all
	}
	values = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told = current; !slices.Contains(s.models, current) {
		s.models = append(s.models, current)
	}
	for _, name := range s.models {
		values = append(values, sdk.SessionConfigSelectOption{Value: sdk.SessionConfigValueId(name), Name: name})
	}
	return append(all, selection(optionModel, "Model", sdk.SessionConfigOptionCategoryModel, current, values))
}

// tellModel tells the editor that another model answers, if that is so.
func (s *session) tellModel() {
	s.mu.Lock()
	told := s.told
	s.mu.Unlock()
	if s.conversation.Model() != told {
		s.update(sdk.SessionUpdate{ConfigOptionUpdate: &sdk.SessionConfigOptionUpdate{ConfigOptions: s.options()}})
	}
}

// setModel has another model answer, once the prompt that is being answered is.
func (s *session) setModel(ctx context.Context, name string) error {
	s.mu.Lock()
	offered := slices.Contains(s.models, name)
	s.mu.Unlock()
	if !offered {
		return Errorf(CodeInvalidParams, "there is no model %q to choose", name)
	}
	select {
	case s.working <- struct{}{}:
		defer func() { <-s.working }()
		if s.server.live(s.id) != s {
			return Errorf(CodeNotFound, "the session %q was closed", s.id)
		}
		return s.conversation.SetModel(ctx, name)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *server) setOption(p *sdk.SetSessionConfigOptionRequest) (work, error) {
	v := p.ValueId
	if v == nil {
		return nil, Errorf(CodeInvalidParams, "value must be the id of one of the option's values")
	}
	live, err := s.find(v.SessionId)
	if err != nil {
		return nil, err
	}
	set := live.conversation.SetMode
	switch v.ConfigId {
	case optionMode:
	case optionModel:
		set = live.setModel
	default:
		return nil, Errorf(CodeInvalidParams, "there is no option %q", v.ConfigId)
	}
	return func(ctx context.Context) (answer, error) {
		if err := set(ctx, string(v.Value)); err != nil {
			live.tellModel() // another request may have been answered with the one that failed
			return answer{}, err
		}
		return answer{result: sdk.SetSessionConfigOptionResponse{ConfigOptions: live.options()}}, nil
	}, nil
}
