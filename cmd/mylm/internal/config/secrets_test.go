package config_test

import (
	"os"
	"slices"
	"testing"

	"mylm/cmd/mylm/internal/config"
)

// What of an MCP server is a key reaches no command; what only stands beside one does.
func TestSecretsOfServers(t *testing.T) {
	for name, value := range map[string]string{"PAT": "canary-pat", "PW": "canary-pw", "HALF": "canary-half", "PLACE": "/home/somebody", "KEY": "canary-key"} {
		t.Setenv(name, value)
	}
	c := &config.Config{MCP: map[string]config.MCP{"a": {
		Name: "a", KeyEnv: "KEY",
		Env:     map[string]string{"TOKEN": "${PAT:-a/b}", "TOKEN_FILE": "${PLACE}/.token", "AUTH_HOME": "${HOME}/x", "LEVEL": "${PLACE}"},
		Headers: map[string]string{"Authorization": "key=${PW};v=1", "X-Api-Key": "${HALF}.${PW} "},
	}}}
	variables, values := c.Secrets()
	for _, secret := range []struct{ name, value string }{{"PAT", "canary-pat"}, {"PW", "canary-pw"}, {"HALF", "canary-half"}, {"KEY", "canary-key"}} {
		if !slices.Contains(variables, secret.name) || !slices.Contains(values, secret.value) {
			t.Errorf("%s is not kept from commands: %q, %q", secret.name, variables, values)
		}
	}
	if !slices.Contains(variables, "MYLM_DATABASE") {
		t.Errorf("the address of a database is not kept from commands: %q", variables)
	}
	for _, other := range []string{"HOME", "PLACE", os.Getenv("HOME"), "/home/somebody"} {
		if slices.Contains(variables, other) || slices.Contains(values, other) {
			t.Errorf("%s is taken for a key: %q, %q", other, variables, values)
		}
	}
}
