package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory/redact"
	"mylm/providers/serve"

	"github.com/urfave/cli/v2"
)

const defaultServeAddress = "127.0.0.1:11435"

func serveCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: `Programs that speak one of these APIs get function calling from any model: mylm shows
it the tools as text, reads its calls, and corrects what cannot be read, unseen.
The tools are run by the program that asks, never by mylm.

The models are those of mylm models: Ollama's, the entries of the configuration, and demo.
With -m every name that a program asks for means that model.`,
		UsageText: `mylm serve                              # http://` + defaultServeAddress + `
mylm serve -m qwen3:8b                  # whatever model a program asks for
mylm serve --for codex                  # the settings for a program
mylm serve --addr 0.0.0.0:11435 --key-env MYLM_KEY`,
		Flags: append(append([]cli.Flag{config.FlagOf(config.ModelName, "all of them")}, config.Flags(
			config.Host, config.Temperature, config.Seed, config.MaxTokens, config.NumCtx, config.KeepAlive, config.Think, config.Form,
			config.Timeout, config.FirstTokenTimeout)...),
			&cli.StringFlag{Name: "addr", Usage: "listen on `ADDRESS`, HOST:PORT; any but the loopback interface needs a key", Value: defaultServeAddress},
			&cli.StringFlag{Name: "key-env", Usage: "require the key that is in the variable `NAME`"},
			&cli.StringSliceFlag{Name: "allow-origin", Usage: "allow web pages of `ORIGIN`, such as https://app.example (repeatable)"},
			&cli.IntFlag{Name: "max-concurrent", Usage: "serve at most `N` requests at once; others wait", Value: 256},
			&cli.BoolFlag{Name: "log-requests", Usage: "print a line for each request, without its contents"},
			&cli.BoolFlag{Name: "log-contents", Usage: "print the contents of requests, too"},
			&cli.StringFlag{Name: "for", Usage: "print the settings for `PROGRAM` instead: " + strings.Join(clientNames(), ", ")},
		),
		Action: func(c *cli.Context) error {
			loaded, err := config.Load(c.Context, config.Source{Flags: c.Command.Flags})
			if err != nil {
				return err
			}
			if name := c.String("for"); c.IsSet("for") {
				return printClient(c, s, loaded, name)
			}
			return runServer(c, s, loaded)
		},
	}
}

func runServer(c *cli.Context, s *term.Screen, loaded *config.Config) error {
	addr := c.String("addr")
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return failure.Usage("--addr %s: %v", term.Echoed(addr), err).WithHint("It is a host and a port, such as " + defaultServeAddress + ".")
	}
	key := ""
	if name := c.String("key-env"); name != "" {
		if key = os.Getenv(name); key == "" {
			return unsetKey(name)
		}
	}
	options := serve.Options{Key: key, Origins: c.StringSlice("allow-origin"), MaxConcurrent: c.Int("max-concurrent"), LogContents: c.Bool("log-contents")}
	options.Redact = func(text string) string { text, _ = redact.Text(text); return text }
	switch {
	case options.MaxConcurrent < 1:
		return failure.Usage("--max-concurrent is %d; it must be at least 1", options.MaxConcurrent)
	case isLoopback(host):
	case key == "":
		return failure.Usage("%s can be reached from other machines, and there is no key", term.Echoed(addr)).
			WithHint("Put a key into a variable and name it, for instance: MYLM_KEY=... mylm serve --addr " + term.Echoed(addr) + " --key-env MYLM_KEY")
	default:
		options.Hosts = []string{"*"} // a page that does not know the key gets nothing, whatever name it uses
	}
	for _, origin := range options.Origins {
		if scheme, name, ok := strings.Cut(origin, "://"); !ok || scheme == "file" || name == "" || strings.ContainsAny(name, "/*") {
			return failure.Usage("--allow-origin %s: an origin is a scheme and a host, such as https://app.example", term.Echoed(origin))
		}
	}
	advised := &advised{screen: s, redact: options.Redact}
	options.Log = func(r serve.Record) {
		if c.Bool("log-requests") || options.LogContents {
			s.Say(recordLine(r))
		}
		advised.log(r)
	}
	models, err := setup.Serve(c.Context, loaded, s)
	if err != nil {
		return err
	}
	options.Open, options.Models = models.Open, models.List

	listener, err := (&net.ListenConfig{}).Listen(c.Context, "tcp", addr)
	if err != nil {
		return cannotListen("mylm serve --addr", addr, err)
	}
	s.Say(fmt.Sprintf("mylm serves http://%s, by %s (Ctrl-C stops it)", listener.Addr(), models.About()))
	ctx, cancel := context.WithCancel(c.Context)
	var checking sync.WaitGroup
	checking.Go(func() { checkModels(ctx, s, models) })
	defer checking.Wait()
	defer cancel()
	return (&serve.Server{Handler: serve.New(options)}).Serve(ctx, listener)
}

// unsetKey is the error of a variable that --key-env names.
func unsetKey(name string) error {
	return failure.Usage("--key-env: the variable %s is not set", term.Echoed(name)).WithHint("Put the key into it: export " + term.Echoed(name) + "=...")
}

// cannotListen is the error of an address. command takes another one.
func cannotListen(command, addr string, err error) error {
	var at *net.OpError
	if errors.As(err, &at) { // it repeats the address
		err = at.Err
	}
	hint := "To listen elsewhere: " + command + " " + defaultServeAddress
	if errors.Is(err, syscall.EADDRINUSE) {
		host, _, _ := net.SplitHostPort(addr)
		err = errors.New("another program, maybe another mylm, listens there already")
		hint = "End that one, or choose another port; 0 takes any that is free: " + command + " " + term.ShellQuote(net.JoinHostPort(host, "0"))
	}
	return (&failure.Error{Code: failure.ExitError, Name: "listen", Err: fmt.Errorf("cannot listen on %s: %w", term.Echoed(addr), err)}).WithHint(hint)
}

// checkModels says what keeps the models from answering, before a program asks one.
func checkModels(ctx context.Context, s *term.Screen, models *setup.Served) {
	if err := models.Check(ctx); err != nil && ctx.Err() == nil {
		f := failure.Of(err)
		s.Say(strings.ReplaceAll(strings.TrimSpace("mylm: until this is fixed, requests for these models fail: "+f.Error()+"\n"+f.Hint), "\n", "\n  "))
	}
}

// advised tells the operator what to do about a backend that fails: once, until a request
// succeeds. Replies have none of it, since it may name addresses and programs of this machine.
type advised struct {
	screen *term.Screen
	redact func(string) string

	mu   sync.Mutex
	last string
}

func (a *advised) log(r serve.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := ""
	if r.Cause != nil {
		f := failure.Of(r.Cause)
		text = a.redact(strings.TrimSpace(fmt.Sprintf("mylm: a request of %s failed: %s\n%s", setup.ServerText(r.Model), setup.ServerText(f.Error()), f.Hint)))
		text = strings.ReplaceAll(text, "\n", "\n  ")
	}
	if text != "" && text != a.last {
		a.screen.Say(text)
	}
	if text != "" || r.Error == "" && r.Model != "" {
		a.last = text
	}
}

// isLoopback reports whether a host can only be reached from this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// recordLine is a request in one line, and its contents on the next.
func recordLine(r serve.Record) string {
	sent := func(s string) string { return term.OneLine(term.Echoed(s), 200) } // it makes no line of its own
	line := fmt.Sprintf("%s %s %s %d %v", r.Time.Format(time.DateTime), r.Method, sent(r.Path), r.Status, r.Duration.Round(time.Millisecond))
	if r.Model != "" {
		line += " " + sent(r.Model)
	}
	if r.Usage.Prompt+r.Usage.Output > 0 {
		line += fmt.Sprintf(" %d+%d tokens", r.Usage.Prompt, r.Usage.Output)
		if r.Estimated {
			line += " (estimated)"
		}
	}
	if r.Corrections > 0 {
		line += fmt.Sprintf(" %d corrected", r.Corrections)
	}
	if r.Error != "" {
		line += " " + r.Code + ": " + setup.ServerText(r.Error)
	}
	if r.Body != "" {
		line += "\n" + term.Printable(r.Body)
	}
	return line
}
