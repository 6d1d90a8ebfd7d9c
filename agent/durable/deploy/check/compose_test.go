package check

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// secrets are what .env.example leaves empty.
var secrets = []string{"POSTGRES_PASSWORD", "TEMPORAL_PASSWORD", "MYLM_PASSWORD"}

// environment is that of a filled-in .env.example.
func environment(t *testing.T) types.Mapping {
	t.Helper()
	text, err := os.ReadFile("../.env.example")
	if err != nil {
		t.Fatal(err)
	}
	all := types.Mapping{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(name, "#") {
			all[name] = value
		}
	}
	for _, name := range secrets {
		if value, there := all[name]; !there || value != "" {
			t.Errorf(".env.example has %s=%s; it is to be there, and empty", name, value)
		}
		all[name] = "secret of " + name
	}
	return all
}

func load(t *testing.T, text string, env types.Mapping) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir: "..", Environment: env,
		ConfigFiles: []types.ConfigFile{{Filename: "../compose.yaml", Content: []byte(text)}},
	}, func(o *loader.Options) { o.Profiles = []string{"*"} })
}

func composeFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCompose(t *testing.T) {
	text, env := composeFile(t), environment(t)
	p, err := load(t, text, env)
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`^[a-z/-]+:[\w.-]*\d+\.\d+[\w.-]*$`)
	for name, s := range p.Services {
		once := strings.HasPrefix(s.Restart, "on-failure") || len(s.Profiles) > 0
		if s.Build == nil && !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %q has no version", name, s.Image)
		}
		if !once && (s.HealthCheck == nil || len(s.HealthCheck.Test) == 0 || s.Restart == "") {
			t.Errorf("%s runs for long without a health check, or is not started again", name)
		}
		if s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.MemoryBytes == 0 {
			t.Errorf("%s has no limit of memory", name)
		}
		if s.Privileged || len(s.Ports) > 0 {
			t.Errorf("%s is privileged, or listens to others", name)
		}
		for _, v := range s.Volumes {
			if v.Type == "bind" {
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		for dependency, d := range s.DependsOn {
			health := d.Condition == types.ServiceConditionHealthy
			if health != (p.Services[dependency].HealthCheck != nil) {
				t.Errorf("%s waits for %s to be %s", name, dependency, d.Condition)
			}
		}
	}
	worker := p.Services["worker"]
	if worker.Deploy == nil || worker.Deploy.Replicas == nil || *worker.Deploy.Replicas != 2 {
		t.Error("there are not two workers")
	}
	for name, value := range env {
		if strings.HasSuffix(name, "PASSWORD") && !strings.Contains(text, "${"+name+":?") {
			t.Errorf("%s (%s) is in .env.example, but not used", name, value)
		}
	}
}

// Nothing starts with a password that is missing or empty.
func TestComposeNeedsSecrets(t *testing.T) {
	text := composeFile(t)
	for _, name := range secrets {
		env := environment(t)
		env[name] = ""
		if _, err := load(t, text, env); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// The check itself finds what is wrong.
func TestComposeFaults(t *testing.T) {
	text, env := composeFile(t), environment(t)
	for _, change := range [][2]string{
		{"restart: unless-stopped", "restarts: unless-stopped"},
		{"interval: 5s", "interval: often"},
		{"postgres: {condition: service_healthy}", "postgres: {condition: healthy}"},
		{"postgres: {condition: service_healthy}", "database: {condition: service_healthy}"},
		{"replicas: 2", "replicas: two"},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("there is no %q", change[0])
		}
		if _, err := load(t, strings.ReplaceAll(text, change[0], change[1]), env); err == nil {
			t.Errorf("%q passes", change[1])
		}
	}
}
