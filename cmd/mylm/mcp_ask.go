package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/internal/group"
	"mylm/tools"
)

// askToolTime is how long a question of another program may take.
const askToolTime = 15 * time.Minute

// askTool has mylm answer questions of other programs. Each is a run of its own in
// the workspace, in a process without a terminal: nobody is asked, so that what needs
// an answer is denied, whatever the user has configured or allowed for good.
func askTool(workspace string, flags []string) (*tools.Tool, error) {
	type input struct {
		Question string `json:"question" jsonschema:"the question, with all that is needed to answer it"`
	}
	t, err := tools.New("ask", "Have a local language model answer a question. It can read the files of its workspace and search its memory, and changes nothing.", tools.Runs,
		func(ctx context.Context, in input) (tools.Result, error) {
			if strings.TrimSpace(in.Question) == "" {
				return tools.Result{}, errors.New("there is no question")
			}
			self, err := os.Executable()
			if err != nil {
				return tools.Result{}, err
			}
			args := append([]string{"ask", "--json", "--workspace", workspace}, flags...)
			cmd := exec.CommandContext(ctx, self, append(args, "-")...)
			cmd.Env = append(os.Environ(), "CI=1", setup.NoStoredRules+"=1")
			cmd.Stdin = strings.NewReader(in.Question) // arguments are short, and others see them
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			g, err := group.Start(cmd)
			if err != nil {
				return tools.Result{}, err
			}
			ended := cmd.Wait()
			g.Kill()
			var answer struct {
				Output string `json:"output"`
				Reason string `json:"stop_reason"`
				Error  struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			switch err := json.Unmarshal(out.Bytes(), &answer); {
			case ctx.Err() != nil:
				return tools.Result{}, ctx.Err()
			case err != nil:
				return tools.Result{}, fmt.Errorf("mylm ask ended with %w: %s", errors.Join(ended, err), term.OneLine(errs.String(), 300))
			case answer.Output == "":
				return tools.Result{}, fmt.Errorf("no answer (%s): %s", answer.Reason, term.OneLine(answer.Error.Message, 300))
			case ended != nil:
				answer.Output += "\n(not finished: " + answer.Reason + ")"
			}
			return tools.Result{Text: answer.Output}, nil
		})
	if err != nil {
		return nil, err
	}
	t.Timeout = askToolTime
	return t, nil
}
