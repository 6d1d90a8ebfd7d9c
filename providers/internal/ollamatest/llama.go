package ollamatest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// StartLlama runs llama.cpp's server on a free port with one model, until the
// test ends. The model has its chat template inside. args adds to the command
// line ("--api-key", "x"). Without a program to run, the test is skipped.
//
// It runs on one thread, for the reason that Create gives, with one slot and a
// window of 8192 tokens.
func StartLlama(t testing.TB, m Computed, args ...string) *Server {
	t.Helper()
	bin, dir := binary(t), tempDir(t)
	file := writeModel(t, m)
	address := freePort(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(bin), "..", "lib", "ollama", "llama-server"), append([]string{
		"--model", file, "--host", host, "--port", port, "--offline", "--ctx-size", "8192", "--threads", "1", "--parallel", "1",
	}, args...)...)
	cmd.Env = append(withoutOllama(os.Environ()), "HOME="+dir)
	return launch(t, cmd, address, "/health")
}
