// Command bench-startup measures how long mylm takes from exec to the first
// byte that it sends to the model, against a Go program that makes the same
// HTTP call and nothing else.
//
//	go run ./scripts/bench-startup [-n 100] [-bound 2.2] [-mcp]
//
// Both programs are built, then run in turns against a server on the loopback
// interface that answers as Ollama does. The exit status is 1 if the median of
// mylm is more than the bound times that of the other. With -mcp mylm runs twice more
// in each turn: with three MCP servers in its configuration that are not used, and
// with three models instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// oneRun bounds a single run, so that a program that waits for something ends.
const oneRun = 30 * time.Second

func main() {
	runs := flag.Int("n", 100, "runs of each program")
	bound := flag.Float64("bound", 2.2, "how many times as long mylm may take")
	servers := flag.Bool("mcp", false, "also with three MCP servers in the configuration")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	over, err := bench(ctx, max(*runs, 1), *bound, *servers)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench-startup:", err)
		os.Exit(1)
	case over:
		fmt.Fprintf(os.Stderr, "bench-startup: more than %v times the baseline\n", *bound)
		os.Exit(1)
	}
}

// program is one of the two that are compared.
type program struct {
	name  string
	args  []string
	env   []string
	times []time.Duration
}

// threeServers is a configuration with MCP servers that cannot be started: an ask that
// tried to would say so.
const threeServers = `
[mcp.one]
command = ["no-such-program", "one"]
[mcp.two]
command = ["no-such-program", "two"]
env = { KEY = "value" }
[mcp.three]
command = ["no-such-program", "three"]
effects = { "*" = "reads" }
`

// threeModels is a configuration of the same size without servers: to read a file
// takes time whatever is in it.
const threeModels = `
[models.one]
provider = "ollama"
model = "no-such-model:one"
[models.two]
provider = "ollama"
model = "no-such-model:two"
[models.three]
provider = "ollama"
model = "no-such-model:three"
temperature = 0.5
`

func bench(ctx context.Context, runs int, bound float64, servers bool) (over bool, err error) {
	dir, err := os.MkdirTemp("", "bench-startup-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	baseline, err := build(ctx, dir, "baseline", "mylm/scripts/bench-startup/baseline")
	if err != nil {
		return false, err
	}
	mylm, err := build(ctx, dir, "mylm", "mylm/cmd/mylm")
	if err != nil {
		return false, err
	}
	server, err := listen()
	if err != nil {
		return false, err
	}
	defer server.Close()

	programs := []*program{
		{name: "baseline", args: []string{baseline}},
		{name: "mylm", args: []string{mylm, "ask", "-m", "m", "q"}},
	}
	if servers {
		for name, text := range map[string]string{"3 models": threeModels, "3 servers": threeServers} {
			config := filepath.Join(dir, name+".toml")
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				return false, err
			}
			programs = append(programs, &program{name: name, args: programs[1].args, env: []string{"MYLM_CONFIG=" + config}})
		}
	}
	const warm = 5 // the first runs read the files into the page cache
	for i := range runs + warm {
		for _, p := range programs {
			took, err := once(ctx, server, dir, p)
			if err != nil {
				return false, fmt.Errorf("%s: %w", strings.Join(p.args, " "), err)
			}
			if i >= warm {
				p.times = append(p.times, took)
			}
		}
	}
	return report(programs, bound), nil
}

func build(ctx context.Context, dir, name, pkg string) (string, error) {
	out := filepath.Join(dir, name)
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, pkg)
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, b)
	}
	return out, nil
}

// once runs a program and returns the time from its start to the first byte of
// its chat request.
func once(ctx context.Context, server *ollama, home string, p *program) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, oneRun)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	cmd.Env = append(p.env, "HOME="+home, "USERPROFILE="+home, "AppData="+home, "LocalAppData="+home, "PATH="+os.Getenv("PATH"),
		"SystemRoot="+os.Getenv("SystemRoot"), "OLLAMA_HOST="+server.url)
	cmd.Dir = home
	server.reset()
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	first, ok := server.first()
	if !ok {
		return 0, fmt.Errorf("it ended without a chat request\n%s", out)
	}
	return first.Sub(start), nil
}

func report(programs []*program, bound float64) (over bool) {
	fmt.Printf("from exec to the first byte of the chat request, %d runs each\n", len(programs[0].times))
	fmt.Printf("%-10s %10s %10s %10s\n", "", "median", "10%", "90%")
	for _, p := range programs {
		slices.Sort(p.times)
		fmt.Printf("%-10s %10v %10v %10v\n", p.name, p.at(50), p.at(10), p.at(90))
	}
	ratio := float64(programs[1].at(50)) / float64(programs[0].at(50))
	fmt.Printf("%-10s %10.2f (at most %v)\n", "ratio", ratio, bound)
	return ratio > bound
}

// at returns the percentile of the sorted times.
func (p *program) at(percent int) time.Duration {
	return p.times[(len(p.times)-1)*percent/100].Round(10 * time.Microsecond)
}
