package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"mylm/agent/durable/pgtest"
)

// certificate is one that is signed by itself, for a name, and the files of it and its key.
func certificate(t *testing.T, name string) (_ tls.Certificate, file, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	public, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file, key = write("cert.pem", "CERTIFICATE", public), write("key.pem", "PRIVATE KEY", secret)
	made, err := tls.LoadX509KeyPair(file, key)
	if err != nil {
		t.Fatal(err)
	}
	return made, file, key
}

// withKey refuses every other key.
func withKey(key string) grpc.ServerOption {
	return grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if md, _ := metadata.FromIncomingContext(ctx); strings.Join(md.Get("authorization"), "") != "Bearer "+key {
			return nil, status.Error(codes.Unauthenticated, "Request unauthorized.")
		}
		return next(ctx, req)
	})
}

// Temporal is reached as its own command reaches it: with TLS, a certificate, a key, from
// variables and from a file. Whatever is wrong says what to do.
func TestDial(t *testing.T) {
	t.Setenv("MYLM_DATABASE", pgtest.Database(t))
	if _, messages, code := run(t, "migrate"); code != 0 {
		t.Fatal(messages)
	}
	cert, file, key := certificate(t, "temporal.example")
	_, stranger, _ := certificate(t, "temporal.example")
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(leaf)
	front := &frontend{worker: identity()}
	plain := front.serve(t)
	secure := front.serve(t, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	mutual := front.serve(t, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool})))
	keyed := front.serve(t, withKey("good"), grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	_, port, err := net.SplitHostPort(secure)
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "temporal.toml")
	if err := os.WriteFile(settings, []byte("[profile.default]\naddress = '"+secure+"'\n[profile.default.tls]\nserver_name = 'temporal.example'\nserver_ca_cert_path = '"+file+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const ca, name = "TEMPORAL_TLS_SERVER_CA_CERT_PATH", "TEMPORAL_TLS_SERVER_NAME"
	reached := "there is no run of a session x" // what tail says where there is no such run
	for _, tt := range []struct {
		name string
		env  map[string]string
		code int
		want []string
	}{
		{"an address alone", map[string]string{"TEMPORAL_ADDRESS": plain}, 2, []string{reached}},
		{"TLS", map[string]string{"TEMPORAL_ADDRESS": secure, ca: file, name: "temporal.example"}, 2, []string{reached}},
		{"a flag's variable first", map[string]string{"TEMPORAL_ADDRESS": "127.0.0.1:1", "MYLM_TEMPORAL": secure, ca: file, name: "temporal.example"}, 2, []string{reached}},
		{"a file", map[string]string{"TEMPORAL_CONFIG_FILE": settings}, 2, []string{reached}},
		{"a certificate", map[string]string{"TEMPORAL_ADDRESS": mutual, ca: file, name: "temporal.example", "TEMPORAL_TLS_CLIENT_CERT_PATH": file, "TEMPORAL_TLS_CLIENT_KEY_PATH": key}, 2, []string{reached}},
		{"a key", map[string]string{"TEMPORAL_ADDRESS": keyed, ca: file, name: "temporal.example", "TEMPORAL_API_KEY": "good"}, 2, []string{reached}},
		{"no home", map[string]string{"TEMPORAL_ADDRESS": plain, "HOME": ""}, 2, []string{reached}},
		{"a refused key", map[string]string{"TEMPORAL_ADDRESS": keyed, ca: file, name: "temporal.example", "TEMPORAL_API_KEY": "canary"}, 2, []string{`access to the namespace "default" is refused`, "TEMPORAL_API_KEY is the key"}},
		{"no key", map[string]string{"TEMPORAL_ADDRESS": keyed, ca: file, name: "temporal.example"}, 2, []string{"TEMPORAL_API_KEY"}},
		{"a server without TLS", map[string]string{"TEMPORAL_ADDRESS": plain, "TEMPORAL_TLS": "true"}, 3, []string{"It speaks without TLS: set TEMPORAL_TLS=false"}},
		{"a server with TLS", map[string]string{"TEMPORAL_ADDRESS": secure}, 3, []string{"set TEMPORAL_TLS=true"}},
		{"an unknown authority", map[string]string{"TEMPORAL_ADDRESS": secure, "TEMPORAL_TLS": "true", name: "temporal.example"}, 3, []string{"TEMPORAL_TLS_SERVER_CA_CERT_PATH names"}},
		{"another authority", map[string]string{"TEMPORAL_ADDRESS": secure, ca: stranger, name: "temporal.example"}, 3, []string{"TEMPORAL_TLS_SERVER_CA_CERT_PATH names"}},
		{"another name", map[string]string{"TEMPORAL_ADDRESS": "localhost:" + port, ca: file}, 3, []string{"TEMPORAL_TLS_SERVER_NAME is"}},
		{"an address as the name", map[string]string{"TEMPORAL_ADDRESS": secure, ca: file}, 3, []string{"TEMPORAL_TLS_SERVER_NAME is"}},
		{"no certificate", map[string]string{"TEMPORAL_ADDRESS": mutual, ca: file, name: "temporal.example"}, 3, []string{"TEMPORAL_TLS_CLIENT_CERT_PATH"}},
		{"no such file", map[string]string{"TEMPORAL_ADDRESS": secure, ca: "/nosuch.pem"}, 2, []string{"/nosuch.pem", "the variables TEMPORAL_"}},
		{"half a certificate", map[string]string{"TEMPORAL_ADDRESS": secure, "TEMPORAL_TLS_CLIENT_CERT_PATH": file}, 2, []string{"other must be present", "the variables TEMPORAL_"}},
		{"no port", map[string]string{"TEMPORAL_ADDRESS": "x"}, 2, []string{"a host and a port", "TEMPORAL_ADDRESS has it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("XDG_CONFIG_HOME", "")
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			_, messages, code := run(t, "tail", "x")
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(messages, want) {
					t.Errorf("stderr lacks %q:\n%s", want, messages)
				}
			}
			if strings.Contains(messages, "canary") {
				t.Errorf("stderr shows the key: %s", messages)
			}
		})
	}
}
