// Package compose checks docker-compose.yml and the files that it mounts against the program. The file resolves, its images are pinned,
// tests run its commands, and dashboards and alert rules name existing metrics. The images themselves are not built.
package compose

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

func project(t *testing.T, dir string) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{filepath.Join(dir, "docker-compose.yml")}, cli.WithName("tidemark"),
		cli.WithEnv([]string{
			"POSTGRES_PASSWORD=owners-word", "POSTGRES_API_PASSWORD=apis-word", "POSTGRES_WORKER_PASSWORD=workers-word", "REDIS_PASSWORD=b",
			"GRAFANA_PASSWORD=c",
		}), cli.WithWorkingDirectory(dir), cli.WithEnvFiles(), cli.WithDotEnv)
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pinned is an image with an exact version: three numbers, or two with a distribution's release.
var pinned = regexp.MustCompile(`^[a-z/]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$`)

func TestTheComposeFileResolves(t *testing.T) {
	t.Parallel()
	p := project(t, root)
	for _, name := range []string{"postgres", "redis", "migrate", "scheduler", "worker", "api", "proxy", "queue", "monitor", "prometheus", "grafana"} {
		if _, ok := p.Services[name]; !ok {
			t.Errorf("there is no service %s", name)
		}
	}
	run := suites(t)
	for name, s := range p.Services {
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %s has no exact version", name, s.Image)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %d is open to everyone", name, port.Target)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s mounts what is not there: %v", name, err)
				}
			}
		}
		if s.Build == nil {
			continue
		}
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") {
			t.Errorf("%s may write to its root file system, or has capabilities", name)
		}
		commands := [][]string{s.Command}
		if s.HealthCheck != nil && !s.HealthCheck.Disable {
			commands = append(commands, s.HealthCheck.Test[2:])
		} else if s.Restart != "no" {
			t.Errorf("%s has no health check", name)
		}
		for _, c := range commands {
			if len(c) != 1 || !strings.Contains(run, `"`+c[0]+`"`) {
				t.Errorf("%s: no test runs the command %q", name, c)
			}
		}
	}
	for service, replicas := range map[string]int{"scheduler": 2, "api": 2} {
		if d := p.Services[service].Deploy; d == nil || d.Replicas == nil || *d.Replicas != replicas {
			t.Errorf("%s: not %d replicas", service, replicas)
		}
	}
}

// assigned is a line of the .env file of docs/operator.md.
var assigned = regexp.MustCompile(`(?m)^    ([A-Z_]+)=(\S.*)$`)

func TestTheSettingsOfTheOperatorsFileReachTheRoles(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	dir := t.TempDir()
	var env strings.Builder
	example, _, found := strings.Cut(read("docs/operator.md"), "Workers that share a ledger")
	list := assigned.FindAllStringSubmatch(example, -1)
	if !found || len(list) < 10 {
		t.Fatalf("the page has %d lines of the file", len(list))
	}
	settings := read("internal/config/settings.go")
	for _, l := range list {
		env.WriteString(l[1] + "=" + l[2] + "\n")
		if !strings.Contains(settings, `env:"`+l[1]+`"`) && !strings.HasSuffix(l[1], "_PASSWORD") && !strings.HasPrefix(l[1], "AWS_") {
			t.Errorf("%s is no setting", l[1])
		}
	}
	for name, text := range map[string]string{"docker-compose.yml": read("docker-compose.yml"), ".env": env.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := project(t, dir)
	for _, l := range list {
		name := l[1]
		var has []string
		for _, role := range []string{"migrate", "scheduler", "worker", "api", "queue"} {
			if v := p.Services[role].Environment[name]; v != nil && *v == l[2] {
				has = append(has, role)
			}
		}
		secretOfOthers := slices.Contains(has, "queue") || slices.Contains(has, "migrate")
		if len(has) == 0 && !strings.HasSuffix(name, "_PASSWORD") || secretOfOthers {
			t.Errorf("%s of the file reaches %v", name, has)
		}
	}
	// A setting that no service names would not reach any service.
	compose := read("docker-compose.yml")
	left := []string{"COMMAND_TIMEOUT", "STATE_DIR", "REPLAY_ARCHIVE", "REPLAY_AT", "SANDBOX_SEED", "SANDBOX_PRICES", "SANDBOX_DAYS", "SANDBOX_DELAY"}
	for _, m := range regexp.MustCompile(`env:"([A-Z0-9_]+)"`).FindAllStringSubmatch(settings, -1) {
		if !slices.Contains(left, m[1]) && !regexp.MustCompile(`\b`+m[1]+`\b`).MatchString(compose) {
			t.Errorf("no service has the setting %s", m[1])
		}
	}
	// Only the workers have the keys of the ledger, of the attester and of sources. No other role has the API's own settings.
	for name, role := range map[string]string{"LEDGER_REMOTE": "worker", "AWS_SECRET_ACCESS_KEY": "worker", "ARCHIVE_URL": "worker", "DATABASE_REPLICA_URL": "api"} {
		for _, other := range []string{"migrate", "scheduler", "worker", "api", "queue"} {
			if v := p.Services[other].Environment[name]; v != nil && *v != "" && other != role {
				t.Errorf("%s knows %s, which is the %s's", other, name, role)
			}
		}
	}
}

// TestOnlyTheMigrationHasTheOwnersPassword: an attacker cannot get from a role what the role does not know.
func TestOnlyTheMigrationHasTheOwnersPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"apis-word", "owners-word", "workers-word"}
	env := "POSTGRES_PASSWORD=owners-word\nPOSTGRES_API_PASSWORD=apis-word\nPOSTGRES_WORKER_PASSWORD=workers-word\n"
	for name, text := range map[string]string{"docker-compose.yml": string(b), ".env": env} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := project(t, dir)
	want := map[string][]string{"migrate": words, "api": words[:1], "worker": words[2:], "scheduler": words[2:]}
	for name, known := range want {
		for _, word := range words {
			has := slices.ContainsFunc(slices.Collect(maps.Values(p.Services[name].Environment)), func(v *string) bool {
				return v != nil && strings.Contains(*v, word)
			})
			if has != slices.Contains(known, word) {
				t.Errorf("%s knows %s: %v", name, word, has)
			}
		}
	}
}

// suites are the tests that run the program.
func suites(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"test/*/*_test.go", "cmd/tidemark/*_test.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "compose_test.go") {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	return all.String()
}

var metric = regexp.MustCompile(`tidemark_[a-z0-9_]+`)

// metrics are the names that the program's source gives its metrics.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, pattern := range []string{"internal/telemetry/*.go", "internal/ops/*.go", "api/payments_metrics.go", "workers/log*.go", "cmd/tidemark/monitor.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range regexp.MustCompile(`"(tidemark_[a-z0-9_]+)"`).FindAllStringSubmatch(string(b), -1) {
				known[name[1]] = true
			}
		}
	}
	return known
}

func TestAlertRulesSpeakOfMetricsThatExist(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "deploy/alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(b, &rules); err != nil {
		t.Fatal(err)
	}
	known, seen := metrics(t), map[string]bool{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			for _, name := range metric.FindAllString(r.Expr, -1) {
				if !known[name] {
					t.Errorf("%s asks for %s, which nothing reports", r.Alert, name)
				}
			}
			if seen[r.Alert] || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("%q is there twice, or has no severity, or no summary", r.Alert)
			}
			seen[r.Alert] = true
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d rules", len(seen))
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not on this machine (Debian has it in the package prometheus): its check of the rules was left out")
	}
	// The rules alone: the configuration names paths inside its container.
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", filepath.Join(root, "deploy/alerts.yml")).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func TestTheDashboardSpeaksOfMetricsThatExist(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "deploy/grafana/tidemark.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title, Description string
			Targets            []struct{ Expr string }
			Links              []struct{ URL string }
			FieldConfig        struct {
				Defaults struct {
					Unit       string
					Thresholds struct{ Steps []struct{ Color string } }
				}
				Overrides []struct {
					Properties []struct {
						ID    string
						Value json.RawMessage
					}
				}
			}
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	known := metrics(t)
	for _, p := range d.Panels {
		if f := p.FieldConfig.Defaults; p.Description == "" || f.Unit == "" || len(f.Thresholds.Steps) == 0 || len(p.Links) == 0 {
			t.Errorf("%s lacks a description, a unit, thresholds or the link of its runbook", p.Title)
		}
		limited := len(p.FieldConfig.Defaults.Thresholds.Steps) > 1
		for _, o := range p.FieldConfig.Overrides {
			for _, property := range o.Properties {
				limited = limited || property.ID == "thresholds" && strings.Count(string(property.Value), `"color"`) > 1
			}
		}
		if limited == strings.Contains(p.Description, "No threshold: ") {
			t.Errorf("%s has neither a limit nor a reason why it has none, or both", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range metric.FindAllString(target.Expr, -1) {
				if !known[name] && !known[strings.TrimSuffix(name, "_bucket")] {
					t.Errorf("%s asks for %s, which nothing reports", p.Title, name)
				}
			}
		}
	}
	if len(d.Panels) < 15 {
		t.Errorf("%d panels", len(d.Panels))
	}
}

// A proxy that replaced X-Forwarded-For with the address of its own peer would give all clients one address.
func TestTheProxyTellsWhoAsks(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"deploy/nginx.conf":  "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
		"docker-compose.yml": "TRUSTED_PROXIES: 172.30.0.0/24,${TRUSTED_PROXIES:-}",
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no line %q", file, want)
		}
	}
}
