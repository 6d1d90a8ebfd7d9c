package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/mcp"

	"github.com/urfave/cli/v2"
)

// loginTime is how long a person may take to log in.
const loginTime = 10 * time.Minute

// serverToLogIn is the server that the first argument names, which the user has
// agreed to.
func serverToLogIn(c *cli.Context) (loaded *config.Config, m config.MCP, server mcp.Server, err error) {
	if loaded, m, err = serverOf(c); err != nil {
		return
	}
	agreed, err := setup.Agreed(c.Context, loaded, nil, nil)
	if err != nil {
		return
	}
	if _, ok := agreed[m.Name]; !ok {
		err = failure.Usage("you have not agreed to the MCP server %s of this project", m.Name).WithHint("mylm mcp trust " + m.Name)
		return
	}
	if server, err = setup.Server(loaded, m); err != nil {
		err = failure.Config(err).WithHint("mylm mcp show " + m.Name + " shows it; mylm config edit changes it.")
	} else if server.Login == nil {
		what := "is a program"
		if server.URL != "" {
			what = "gets a key with every request"
		}
		err = failure.Usage("the MCP server %s %s; it is not logged in to", m.Name, what)
	}
	return
}

// loginServer logs in to a server.
func loginServer(c *cli.Context, s *term.Screen) error {
	loaded, m, _, err := serverToLogIn(c)
	if err != nil {
		return err
	}
	m.Disabled = false
	var problem error // of the last browser
	hub, err := setup.NewHub(loaded, map[string]config.MCP{m.Name: m}, s, func(server *mcp.Server, _ config.MCP) {
		server.Start = loginTime
		server.Login.Ask = func(ctx context.Context, address string, pasted chan<- string) error {
			u, err := url.Parse(address)
			if err != nil {
				return err
			}
			s.Say(fmt.Sprintf("%s wants you to log in at %s:\n\n%s\n", m.Name, term.Visible(u.Host), term.Visible(address)))
			if !c.Bool("no-browser") {
				if problem = openBrowser(address); problem != nil {
					s.Dim("mylm: the browser could not be opened (" + term.OneLine(problem.Error(), 200) + "); open the address yourself")
				}
			}
			p := &term.Prompter{Screen: s}
			if p.Absent() != "" {
				return nil
			}
			for {
				text, err := p.Ask(ctx, "If the browser is on another machine, paste the address here that it ends up at: ")
				if err != nil || ctx.Err() != nil {
					return nil // the browser may still come
				}
				select {
				case pasted <- text:
				case <-ctx.Done():
					return nil
				}
			}
		}
	})
	if err != nil {
		return err
	}
	defer hub.Close()
	listed, err := hub.Login(c.Context, m.Name)
	network := net.Error(nil)
	switch {
	case c.Context.Err() != nil:
		return c.Context.Err()
	case errors.As(err, &network) && !network.Timeout(): // a timeout is the person's as well
		return unreachableServer(err, true)
	case err != nil:
		return (&failure.Error{Code: failure.ExitError, Name: "login", Err: err}).WithHint("mylm mcp show " + m.Name + " shows the server; where it registers no client by itself, set client_id: docs/mcp.md.")
	}
	s.Say("logged in to " + m.Name)
	printListed(s, listed, false)
	return nil
}

// logoutServer forgets a login.
func logoutServer(c *cli.Context, s *term.Screen) error {
	_, m, err := serverOf(c)
	if err != nil {
		return err
	}
	existed, err := setup.Logins().Forget(c.Context, m.Name)
	switch {
	case err != nil:
		return err
	case !existed:
		s.Dim("there is no login to " + m.Name)
	default:
		s.Dim("the login to " + m.Name + " is forgotten here; the server may list it until it expires")
	}
	return nil
}

// withAddress are arguments with an address in the place of %s, or else at their end.
func withAddress(args []string, address string) (all []string) {
	placed := false
	for _, word := range args {
		placed = placed || strings.Contains(word, "%s")
		all = append(all, strings.ReplaceAll(word, "%s", address))
	}
	if !placed {
		all = append(all, address)
	}
	return all
}

// openBrowser shows a page in the user's browser, which outlives this process.
func openBrowser(address string) error {
	var words []string
	switch browser := strings.Fields(strings.Split(os.Getenv("BROWSER"), ":")[0]); {
	case len(browser) > 0:
		words = browser
	case runtime.GOOS == "darwin":
		words = []string{"open"}
	case runtime.GOOS == "windows":
		words = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return fmt.Errorf("there is no display")
	default:
		words = []string{"xdg-open"}
	}
	cmd := exec.Command(words[0], withAddress(words[1:], address)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
