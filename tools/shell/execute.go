package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"mylm/internal/group"
	"mylm/tools/sandbox"
)

// dir is where a command runs that asks for cwd.
func (o Options) dir(cwd string) (string, error) {
	if cwd == "" {
		return o.Dir, nil
	}
	base, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", err
	}
	rel := cwd
	if filepath.IsAbs(cwd) {
		if rel, err = filepath.Rel(base, cwd); err != nil {
			rel = cwd
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(rel) // follows no link that leads out
	switch {
	case err == nil && info.IsDir():
		return filepath.Join(base, rel), nil
	case err == nil:
		return "", fmt.Errorf("cwd %q is not a directory", cwd)
	case os.IsNotExist(err):
		return "", fmt.Errorf("cwd %q does not exist below the working directory", cwd)
	}
	return "", fmt.Errorf("cwd %q cannot be used, it must be a directory below the working directory: %w", cwd, err)
}

// execute runs cmd with both its streams on one pipe that is copied to out. It
// returns when the command is done, its processes are dead and its output is
// read.
//
// The pipe is made here and not by Cmd, because Cmd.Wait would wait for every
// process that holds it before the rest could be killed.
func (o Options) execute(cmd *exec.Cmd, out io.Writer) (report sandbox.Report, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return report, fmt.Errorf("no pipe for the output of the command: %w", err)
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	end, err := o.start(cmd)
	w.Close()
	if err != nil {
		return report, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(out, r)
	}()
	report, err = end()
	select {
	case <-read:
	case <-time.After(maxDrain):
		r.Close()
		<-read
	}
	return report, err
}

// start starts cmd as whatever kills its processes best here, and returns a
// function that waits for their end.
func (o Options) start(cmd *exec.Cmd) (end func() (sandbox.Report, error), err error) {
	policy := o.policy()
	if policy.Mode == sandbox.Off && !sandbox.Supervises() {
		g, err := group.Start(cmd)
		if err != nil {
			return nil, fmt.Errorf("the command could not be started: %w", err)
		}
		return func() (sandbox.Report, error) {
			err := cmd.Wait()
			return sandbox.Report{Leftovers: g.Kill()}, err
		}, nil
	}
	guard, err := policy.Wrap(cmd)
	if err != nil {
		return nil, fmt.Errorf("the command was not run, because its sandbox cannot be enforced: %w", err)
	}
	if err := cmd.Start(); err != nil {
		guard.Release()
		return nil, fmt.Errorf("the command could not be started: %w", err)
	}
	return func() (sandbox.Report, error) {
		err := cmd.Wait()
		report := guard.Release()
		if report.Failed != nil {
			err = fmt.Errorf("the command could not be started: %w", report.Failed)
		} else if report.Abandoned {
			err = errors.Join(err, errors.New("the command killed its supervisor, and processes that it started may still run; inform the user"))
		}
		return report, err
	}, nil
}
