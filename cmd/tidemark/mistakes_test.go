package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestAMistypedValueNamesTheNearestAndItsSetting(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"quarantine list --decision=acepted": `--decision: "acepted" is not one of pending, accepted, rejected; did you mean accepted?`,
		"payments list --state=settld":       `--state: "settld" is not one of reserved, settling, unknown, settled, failed; did you mean settled?`,
		"completion bsh":                     `<shell>: "bsh" is not one of bash, zsh, fish; did you mean bash?`,
		"runs --log-level=loud":              `LOG_LEVEL (--log-level): "loud" is not one of debug, info, warn, error (see`,
		"runs --log-format=jsn":              `LOG_FORMAT (--log-format): "jsn" is not one of auto, text, json; did you mean json?`,
		`runs --log-format="x"`:              `LOG_FORMAT (--log-format): "\"x\"" is not one of auto, text, json (see`,
		"up --sandbox-days=many":             `SANDBOX_DAYS (--sandbox-days): "many" is not a whole number`,
		"up --pages=ful":                     `PAGES: "ful" is none of free, full; did you mean full?`,
		"backup /nowhere --without=ledgr":    `--without: "ledgr" is not one of archive, ledger; did you mean ledger?`,
	} {
		if code, out := told(t, strings.Fields(line)...); code != 2 || !strings.Contains(out, says) {
			t.Errorf("%s: exit %d: %s, want %s", line, code, out, says)
		}
	}
}

// The environment of a process is read by a process of its own: this program runs itself.
func TestTheEnvironmentIsComparedWithTheSettings(t *testing.T) {
	t.Parallel()
	if os.Getenv("TIDEMARK_TEST_ARGS") != "" {
		os.Exit(run(t.Context(), strings.Fields(os.Getenv("TIDEMARK_TEST_ARGS")), os.Stdout, os.Stderr))
	}
	away := "DATABASE_URL=postgres://127.0.0.1:1/x"
	for _, c := range []struct {
		args   string
		env    []string
		says   []string
		silent string
	}{
		{"runs", []string{"LOG_LEVEL=inof"}, []string{`LOG_LEVEL (--log-level): "inof" is not one of debug, info, warn, error; did you mean info?`}, "envar"},
		{"up", []string{"SANDBOX_DAYS=many"}, []string{`SANDBOX_DAYS (--sandbox-days): "many" is not a whole number`}, "envar"},
		{"worker", []string{away, "TIINGO_KEY=secret", "EIA_KEY=x", "OPS_ADR" + "ESS=x", "REDIS_URL=redis://127.0.0.1:1"}, []string{
			`"TIINGO_KEY","nearest":"TIINGO_API_KEY"`, `"nearest":"EIA_API_KEY"`, `"nearest":"OPS_ADDR"`, "DATABASE_URL",
		}, "secret"},
		{"api", []string{away, "TRUSTED_PROXY=x", "REDIS_URL=redis://127.0.0.1:1"}, []string{`"nearest":"TRUSTED_PROXIES"`}, "TIINGO"},
		{"runs", []string{away, "TIINGO_KEY=x"}, []string{"DATABASE_URL"}, "TIINGO"},
		{"runs", []string{away, "DATABSE_URL=x", "TIINGO_KEY=x"}, []string{"DATABASE_URL"}, "TIINGO"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Dir = t.TempDir()
		cmd.Env = append(c.env, "TIDEMARK_TEST_ARGS="+c.args, "PATH="+os.Getenv("PATH"), "STATE_DIR="+cmd.Dir, "HOME="+cmd.Dir)
		out, err := cmd.CombinedOutput()
		if err == nil || strings.Contains(string(out), c.silent) {
			t.Errorf("%s with %v: %v: %s", c.args, c.env, err, out)
		}
		for _, s := range c.says {
			if !strings.Contains(string(out), s) {
				t.Errorf("%s with %v: %s\nwant %s", c.args, c.env, out, s)
			}
		}
	}
}
