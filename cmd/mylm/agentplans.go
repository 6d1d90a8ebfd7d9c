package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory"

	"github.com/urfave/cli/v2"
)

// plansPath is the file of the cached plans.
func plansPath() (string, error) {
	dir, err := config.DataDir()
	return filepath.Join(dir, "plans.json"), err
}

// planCache is the cache of plans, nil if this one is not cached: a plan whose
// planner read files depends on what it saw.
func (r *run) planCache(goal string) (*plan.Cache, string) {
	c := r.flags
	path, err := plansPath()
	if err != nil || r.Options.DryRun || r.Memory.NoSave != "" || c.Bool("fresh") || c.Bool("no-plan") || c.Bool("mixed") || c.String("plan") != "" || r.plan.workflow != nil || !r.asks() {
		return nil, ""
	}
	return &plan.Cache{Path: path}, plan.CacheKey(goal, r.Model.Name, r.Options.Tools.Names())
}

// savePlan saves a plan for the next time. A plan with secrets is not saved:
// without them it could not run.
func (r *run) savePlan(cache *plan.Cache, key, goal string, tasks []plan.Task) {
	texts := []string{goal}
	for _, t := range tasks {
		texts = append(texts, t.ID, t.Description)
	}
	if _, found := memory.Redact(strings.Join(texts, "\n")); len(found) > 0 {
		r.out.note("this plan is not saved, because it contains secrets: " + strings.Join(found, ", "))
		return
	}
	r.reportCacheError(cache.Put(key, tasks))
}

// reportCacheError reports that plans cannot be saved, which does not stop the run.
func (r *run) reportCacheError(err error) {
	if err != nil && !r.Recorder.Failed() { // which was reported, for the same reason
		r.out.screen.Say(fmt.Sprintf("mylm: the plan cannot be saved: %v", err))
	}
}

func forgetPlansCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: "forget", Usage: "delete the saved plans, and the consent to workflows of projects",
		Description: "Plans are made anew then, and workflows of projects shown and asked about again. Sessions stay:\nmylm sessions rm deletes them.",
		Action: func(c *cli.Context) error {
			path, err := plansPath()
			if err != nil {
				return err
			}
			plans, err := plan.Cache{Path: path}.Clear()
			if err != nil {
				return err
			}
			consents, err := forgetConsents()
			if err != nil {
				return err
			}
			s.Answer(fmt.Sprintf("deleted %s and %s of workflows\n", term.Plural(plans, "plan"), term.Plural(consents, "consent")))
			return nil
		},
	}
}

// forgetConsents deletes the consents to workflows of projects.
func forgetConsents() (n int, err error) {
	dir, err := consentDir()
	if err != nil {
		return 0, err
	}
	markers, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, m := range markers {
		if err := os.Remove(filepath.Join(dir, m.Name())); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}
