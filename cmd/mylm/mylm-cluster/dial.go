package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// dialOptions are how Temporal is reached: as its own command has it from variables and
// from temporal.toml, where no flag says otherwise.
func dialOptions(ctx *cli.Context) (o client.Options, err error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err == nil {
		profile.Address = cmp.Or(ctx.String("temporal"), profile.Address, defaultTemporal)
		profile.Namespace = cmp.Or(ctx.String("namespace"), profile.Namespace, client.DefaultNamespace)
		o, err = profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	}
	if err != nil {
		return o, failure.Config(fmt.Errorf("the settings of Temporal: %s", term.OneLine(err.Error(), 300))).
			WithHint("They are the variables TEMPORAL_…, and the file that TEMPORAL_CONFIG_FILE names, else temporalio/temporal.toml among your settings.")
	}
	// What is sent is small, since what is large is in the database: to compress it costs more
	// than to send it.
	o.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	if _, _, err := net.SplitHostPort(o.HostPort); err != nil {
		return o, failure.Usage("the address of Temporal is %s: it must be a host and a port, such as %s", term.Echoed(o.HostPort), defaultTemporal).
			WithHint("--temporal, MYLM_TEMPORAL or TEMPORAL_ADDRESS has it.")
	}
	return o, nil
}

// dialWithin is how long a server may take to answer.
const dialWithin = 10 * time.Second

// dial connects to Temporal, and makes sure that the namespace is there.
func (c *cluster) dial(ctx context.Context, o client.Options) (client.Client, error) {
	limited, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	handler := unrecorded{slog.NewTextHandler(c.screen.Err, &slog.HandlerOptions{Level: slog.LevelError})}
	o.Identity, o.Logger = identity(), sdklog.NewStructuredLogger(slog.New(handler))
	t, err := client.DialContext(limited, o)
	if err == nil {
		if _, err = t.WorkflowService().DescribeNamespace(limited, &workflowservice.DescribeNamespaceRequest{Namespace: o.Namespace}); err == nil {
			return t, nil
		}
		t.Close()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, refused(err, o)
}

// What to do about faults of TLS.
const (
	otherName = "TEMPORAL_TLS_SERVER_NAME is the name that its certificate must have, if that is not the host of the address."
	noCert    = "It may want a certificate of an authority that it knows: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH name the files."
)

// handshakes are faults of TLS, by what gRPC's text about them has in it.
var handshakes = []struct{ text, hint string }{
	{"first record does not look like a TLS handshake", "It speaks without TLS: set TEMPORAL_TLS=false, and no TEMPORAL_API_KEY, which would be sent in clear."},
	{"unknown authority", "Its certificate is of an authority that this machine does not know: TEMPORAL_TLS_SERVER_CA_CERT_PATH names the file with that of the authority."},
	{"certificate has expired", "Renew its certificate; if it is not old, the clock of this machine is wrong."},
	{"x509: certificate is", otherName},
	{"x509: cannot validate certificate for", otherName},
	{"remote error: tls:", noCert},
}

// ended is in the texts of connections that the other side ended: what it said about it is
// lost if more was sent meanwhile.
var ended = []string{"error reading server preface", "EOF", "broken pipe", "connection reset", "forcibly closed"}

// refused is why Temporal cannot be used, with what to do about it.
func refused(err error, o client.Options) error {
	var missing *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	where, text := o.HostPort, term.OneLine(err.Error(), 200)
	switch {
	case errors.As(err, &missing):
		return failure.Config(fmt.Errorf("there is no namespace %q in Temporal at %s", term.Echoed(o.Namespace), where)).
			WithHint("--namespace or MYLM_TEMPORAL_NAMESPACE names another. To make it: temporal operator namespace create " + term.ShellQuote(term.Echoed(o.Namespace)))
	case errors.As(err, &denied), status.Code(err) == codes.Unauthenticated:
		return (&failure.Error{Code: failure.ExitUsage, Name: "auth", Err: fmt.Errorf("access to the namespace %q is refused by Temporal at %s: %s", term.Echoed(o.Namespace), where, text)}).
			WithHint("TEMPORAL_API_KEY is the key, TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH name a certificate: one that is valid, and may use this namespace.")
	}
	hint := "Is it running there? For a try on this machine: temporal server start-dev\n--temporal or MYLM_TEMPORAL names another address, the host and port of its frontend."
	if slices.ContainsFunc(ended, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		hint = "It may speak TLS: set TEMPORAL_TLS=true."
		if o.ConnectionOptions.TLS != nil {
			hint = noCert
		}
	}
	for _, h := range handshakes {
		if strings.Contains(err.Error(), h.text) {
			hint = h.hint
		}
	}
	return &failure.Error{Code: failure.ExitUnreachable, Name: "unreachable", Err: fmt.Errorf("no Temporal answers at %s: %s", where, text), Hint: hint}
}

// unrecorded logs what no session and no history has: not how activities fail.
type unrecorded struct{ slog.Handler }

// Handle implements slog.Handler.
func (u unrecorded) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "Activity error." {
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (u unrecorded) WithAttrs(attrs []slog.Attr) slog.Handler {
	return unrecorded{u.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (u unrecorded) WithGroup(name string) slog.Handler { return unrecorded{u.Handler.WithGroup(name)} }

// identity is how Temporal knows this process: with the version of the loop. That of a
// worker has what it takes and the digest of its settings behind it.
func identity() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s%d %d@%s", identityPrefix, loopVersion, os.Getpid(), host)
}

const identityPrefix = "mylm-loop/"
