package acp

import (
	"context"
	"path/filepath"
	"slices"

	sdk "github.com/coder/acp-go-sdk"
)

// Editor is what a session can ask of its editor. It may be used by several
// goroutines at once, while a prompt is answered.
type Editor struct{ session *session }

func (e *Editor) files() sdk.FileSystemCapabilities {
	s := e.session.server
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client.Fs
}

// Reads reports whether the editor reads files: it has changes that are not saved.
func (e *Editor) Reads() bool { return e.files().ReadTextFile }

// Writes reports whether the editor writes files.
func (e *Editor) Writes() bool { return e.files().WriteTextFile }

// path is a name as the editor takes it.
func (e *Editor) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.session.dir, name)
}

// ReadFile returns the text of a file, with the changes that are not saved. A name
// that is not absolute is of the session's directory.
func (e *Editor) ReadFile(ctx context.Context, name string) (string, error) {
	var r sdk.ReadTextFileResponse
	err := e.session.server.conn.call(ctx, sdk.ClientMethodFsReadTextFile, sdk.ReadTextFileRequest{SessionId: sdk.SessionId(e.session.id), Path: e.path(name)}, &r)
	return r.Content, err
}

// WriteFile has the editor write a file. A name that is not absolute is of the
// session's directory.
func (e *Editor) WriteFile(ctx context.Context, name, text string) error {
	return e.session.server.conn.call(ctx, sdk.ClientMethodFsWriteTextFile, sdk.WriteTextFileRequest{SessionId: sdk.SessionId(e.session.id), Path: e.path(name), Content: text}, nil)
}

// Question is a question about a call.
type Question struct {
	Call    string // its id
	Name    string
	Args    []byte // JSON
	Why     string // what the user should know before the answer
	Choices []Choice
}

// Ask asks the user about a call, and returns the id of the choice. If the editor
// gives none, since the turn was cancelled, ctx is done soon, and the error is that
// of a cancel.
func (t *Turn) Ask(ctx context.Context, q Question) (choice string, err error) {
	p := sdk.RequestPermissionRequest{SessionId: sdk.SessionId(t.session.id), ToolCall: t.asked(q)}
	for _, c := range q.Choices {
		kind := sdk.PermissionOptionKindRejectOnce
		switch {
		case c.Allows && c.Always:
			kind = sdk.PermissionOptionKindAllowAlways
		case c.Allows:
			kind = sdk.PermissionOptionKindAllowOnce
		}
		p.Options = append(p.Options, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(c.ID), Name: c.Name, Kind: kind})
	}
	var r sdk.RequestPermissionResponse
	if err := t.session.server.conn.call(ctx, sdk.ClientMethodSessionRequestPermission, p, &r); err != nil {
		return "", err
	}
	if r.Outcome.Selected == nil {
		t.cancel(context.Canceled) // the editor has cancelled the turn, or is about to
		return "", context.Canceled
	}
	choice = string(r.Outcome.Selected.OptionId)
	if !slices.ContainsFunc(q.Choices, func(c Choice) bool { return c.ID == choice }) {
		return "", Errorf(CodeInvalid, "the editor chose %q, which was not offered", choice)
	}
	return choice, nil
}
