package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/tools/policy"
	"mylm/tools/sandbox"
)

// checkServers looks at the MCP servers, without connecting to them.
func (d *doctor) checkServers(ctx context.Context) {
	rows, hub, err := serverRows(ctx, d.config)
	if err != nil {
		d.fault(statusError, "mcp", err, "mylm mcp list lists the servers.")
		return
	}
	if hub != nil {
		defer hub.Close()
	}
	used, good := 0, 0
	for _, r := range rows {
		used++
		switch r.State {
		case "disabled":
			used--
		case "ready":
			good++
		case "not agreed":
			d.warn("mcp", "mylm mcp trust "+r.Name+" shows it.", "you have not agreed to %s, which this project names", r.Name)
		case "not started yet":
			d.warn("mcp", "mylm mcp test "+r.Name+" tries it, mylm mcp remove "+r.Name+" removes it.", "%s has never answered", r.Name)
		default:
			d.fail("mcp", "mylm mcp show "+r.Name+" shows it; mylm config edit changes it.", "%s: %s", r.Name, r.State)
		}
	}
	if used > 0 && used == good {
		d.ok("mcp", "%s, not tried: mylm mcp test connects to them", term.Plural(used, "server"))
	}
}

// checkSandbox looks at whether the commands of a model can be confined.
func (d *doctor) checkSandbox(context.Context) {
	box := setup.SandboxPolicy(d.config)
	switch err := box.Check(); {
	case box.Mode == sandbox.Off && !d.config.SandboxPossible():
		d.warn("sandbox", "", "there is none on %s, so every command is asked about", setup.Kernel())
		return
	case box.Mode == sandbox.Off:
		d.warn("sandbox", "mylm config edit; the default is mode = \"workspace\" in [sandbox]", "it is off (%s): a command can do what you can", config.SandboxMode.Place(d.config.Settings))
		return
	case err != nil:
		d.fail("sandbox", "mylm ask --workspace DIR works in another directory; mylm ask --sandbox off runs commands without a sandbox.", "commands are refused, because it cannot be enforced: %v", err)
		return
	}
	if gaps := box.Gaps(); len(gaps) > 0 {
		for _, gap := range gaps {
			d.warn("sandbox", "", "%s", gap)
		}
	} else {
		d.ok("sandbox", "%s on %s", box.Mode, setup.Kernel())
	}
	unasked, err := policy.ParseUnasked(config.Unasked.Of(d.config.Settings))
	if err != nil || unasked != policy.Sandbox {
		return
	}
	strict := *box
	strict.Mode, strict.Strict = sandbox.ReadOnly, true
	if err := strict.Check(); err != nil {
		d.warn("unasked", "", "commands that only read are asked about, too: %v", err)
	}
}

// plenty is how much disk a data directory should have left: some thousand
// sessions.
const plenty = 100 << 20

// checkData looks at whether sessions and memories can be kept.
func (d *doctor) checkData(context.Context) {
	dir, err := config.DataDir()
	if err != nil {
		d.fault(statusError, "data", fmt.Errorf("no session and no memory can be kept: %w", err), "Set HOME or XDG_DATA_HOME.")
		return
	}
	there := dir
	info, err := os.Stat(there)
	for config.IsMissing(err) && filepath.Dir(there) != there { // it is made by the first question
		there = filepath.Dir(there)
		info, err = os.Stat(there)
	}
	if err == nil {
		err = writable(there)
	}
	free, known := setup.FreeDisk(there)
	switch {
	case err != nil:
		d.fail("data", "Make "+there+" a directory that you can write to, or set XDG_DATA_HOME; mylm ask --no-save keeps nothing.", "no session and no memory can be kept: %v", err)
	case known && free < plenty:
		d.warn("data", "Delete something there; mylm sessions prune deletes old sessions.", "only %s are left on the disk of %s", term.Bytes(free), there)
	case there == dir && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		d.warn("data", "chmod 700 "+term.ShellQuote(dir), "other users can look into %s (its mode is %04o)", dir, info.Mode().Perm())
	default:
		d.ok("data", "%s, %s free", dir, term.Bytes(free))
	}
}

// writable makes a file in a directory and deletes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".mylm-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// checkMemory reads the whole memory, and looks for what makes vectors.
func (d *doctor) checkMemory(ctx context.Context) {
	path, err := setup.MemoryPath()
	if err != nil {
		return // checkData has reported it
	}
	if _, err := os.Stat(path); config.IsMissing(err) { // opening it would make it
		d.ok("memory", "nothing is remembered yet")
		return
	}
	memories := setup.NewMemory(d.config, d.screen)
	defer memories.Close()
	store, err := memories.Open(ctx)
	if err != nil {
		err = explainMemory(err)
		d.fault(statusError, "memory", err, cmp.Or(failure.Of(err).Hint, "mylm ask --no-memory --no-save works without it."))
		return
	}
	done := d.screen.Busy("checking the memory")
	report, err := store.Verify(ctx)
	done()
	aside, asideErr := store.Aside()
	switch {
	case ctx.Err() != nil:
		d.warn("memory", "mylm memory verify takes its time.", "it could not be checked within %v", checkPatience)
		return // nor could its vectors
	case err != nil:
		d.fault(statusError, "memory", explainMemory(err), "")
	case len(report.Problems) > 0:
		d.fail("memory", "mylm memory stats moves the file aside and saves what can be read.", "it is damaged: %s", report.Problems[0])
	case asideErr == nil && len(aside) > 0:
		d.warn("memory", "Once nothing is missing: rm "+term.ShellQuote(aside[0]), "%s; it was damaged once, and %s stays", term.Plural(report.Documents, "document"), aside[0])
	default:
		d.ok("memory", "%s in %s", term.Plural(report.Documents, "document"), path)
	}
	e, fallback, err := setup.Embedder(ctx, d.config, store)
	switch {
	case err != nil:
		d.fault(statusWarning, "vectors", fmt.Errorf("memories are found by words alone: %w", err), "")
	case fallback != nil:
		d.fault(statusWarning, "vectors", fallback, "")
	case e == nil:
		d.ok("vectors", "none: memories are found by words alone (ollama pull nomic-embed-text adds vectors)")
	default:
		d.ok("vectors", "by %s", term.Printable(e.Name()))
	}
}

// checkTemplates looks at what the user has written for the model: templates and
// workflows.
func (d *doctor) checkTemplates(context.Context) {
	set, err := setup.Prompts()
	if err == nil {
		err = set.Check()
	}
	if err != nil {
		d.fault(statusError, "prompts", failure.Config(err), "Correct the file, or delete it to get the built-in one back: mylm prompts show NAME prints it.")
	} else {
		own := 0
		for _, name := range prompts.Names() {
			if set.Path(name) != "" {
				own++
			}
		}
		d.ok("prompts", "%s, %d of them yours", term.Plural(len(prompts.Names()), "template"), own)
	}
	there, err := allWorkflows(d.cli, "")
	if err != nil {
		return // checkConfiguration has reported it
	}
	bad := there.unread
	for _, w := range there.all {
		if w.bad != nil {
			bad = errors.Join(bad, fmt.Errorf("%s: %w", w.from, w.bad))
		}
	}
	if bad != nil {
		d.warn("workflows", "Correct the file; mylm agent workflow show debug_bug prints one that is right.", "%v", bad)
		return
	}
	d.ok("workflows", "%s", term.Plural(len(there.all), "workflow"))
}
