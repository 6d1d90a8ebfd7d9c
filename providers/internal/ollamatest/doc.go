// Package ollamatest runs a private Ollama server for a test and loads computed
// models into it, or llama.cpp's own server, which Ollama brings along, with
// one of them.
//
// # Smallest use
//
//	s := ollamatest.Start(t)
//	s.Create(t, "m", &scriptmodel.Model{Default: "Hello."})
//	client, err := ollama.New(ollama.Options{Host: s.URL})
//
//	l := ollamatest.StartLlama(t, &scriptmodel.Model{Default: "Hello.", Jinja: true})
//
// # Words
//
// OLLAMA_TEST_BIN names the ollama program; scripts/get-ollama installs one and
// prints its path. Without it, tests skip; with OLLAMA_TEST_REQUIRED=1 its
// absence is a failure, for a run that must not pass by skipping.
//
// # Limits
//
// Linux only, for process groups and /proc; elsewhere the tests skip. If the
// test binary is killed, the server goes with it but may leave a runner behind.
package ollamatest
