package main

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

// hole accepts connections and answers nothing, as a stopped server does.
func hole(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestACommandGivesUpOnAServerThatIsSilent(t *testing.T) {
	t.Parallel()
	at := hole(t)
	silent := "postgres://u:secret@" + at + "/x?sslmode=disable"
	live := pgtest.New(t)
	db, err := postgres.Open(t.Context(), live, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	postgresIsSilent := []string{"DATABASE_URL: Postgres at " + at + " gave no answer for 1s", "COMMAND_TIMEOUT"}
	redisIsSilent := []string{"REDIS_URL: no answer of Redis (single)", "COMMAND_TIMEOUT"}
	for name, tt := range map[string]struct {
		args []string
		says []string
	}{
		"runs":    {[]string{"runs", "--database-url=" + silent}, postgresIsSilent},
		"migrate": {[]string{"migrate", "--database-url=" + silent}, postgresIsSilent},
		"status":  {[]string{"migrate", "--status", "--database-url=" + silent}, postgresIsSilent},
		"backup":  {[]string{"backup", t.TempDir() + "/b", "--database-url=" + silent}, postgresIsSilent},
		"restore": {[]string{"restore", t.TempDir(), "--database-url=" + silent}, nil},
		"doctor":  {[]string{"doctor", "--database-url=" + silent, "--redis-url=redis://" + at}, append(postgresIsSilent, redisIsSilent...)},
		"workers": {[]string{"workers", "--database-url=" + live, "--redis-url=redis://" + at}, redisIsSilent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type ended struct {
				code int
				out  string
			}
			done := make(chan ended, 1)
			go func() {
				code, out := told(t, append(tt.args, "--command-timeout=1s", "--state-dir="+t.TempDir())...)
				done <- ended{code, out}
			}()
			select {
			case e := <-done:
				if e.code != 1 || strings.Contains(e.out, "secret") {
					t.Errorf("exit %d:\n%s", e.code, e.out)
				}
				for _, s := range tt.says {
					if !strings.Contains(e.out, s) {
						t.Errorf("it lacks %q:\n%s", s, e.out)
					}
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("it waits without end")
			}
		})
	}
}

// What Go and its libraries call an error is not for a person.
func TestACommandSaysInPlainWordsWhatDidNotAnswer(t *testing.T) {
	t.Parallel()
	jargon := regexp.MustCompile(`dial (tcp|error)|i/o timeout|no such (file|host)|connection refused|context (deadline|canceled)|stat /|Get "`)
	for name, tt := range map[string]struct {
		says []string
		args []string
	}{
		"Postgres": {[]string{"DATABASE_URL: ", "no connection to Postgres (user u, database x): nothing listens at 127.0.0.1:1"}, []string{"runs", "--database-url=postgres://u:p@127.0.0.1:1/x"}},
		"doctor": {
			[]string{"nothing listens at 127.0.0.1:1", "nothing listens at 127.0.0.1:2", "DATABASE_URL", "REDIS_URL"},
			[]string{"doctor", "--database-url=postgres://u:p@127.0.0.1:1/x", "--redis-url=redis://127.0.0.1:2"},
		},
		"doctor in JSON": {[]string{"nothing listens at 127.0.0.1:1"}, []string{"doctor", "--json", "--database-url=postgres://u:p@127.0.0.1:1/x"}},
		"health":         {[]string{"OPS_ADDR: ", "nothing listens at 127.0.0.1:3"}, []string{"health", "--ops-addr=127.0.0.1:3"}},
		"a backup":       {[]string{"/nowhere does not exist"}, []string{"backup", "verify", "/nowhere"}},
		"a policy":       {[]string{"MONITOR_POLICY: /nowhere does not exist"}, []string{"monitor", "--monitor-policy=/nowhere"}},
		"a server":       {[]string{"http://127.0.0.1:3", "nothing listens at 127.0.0.1:3"}, []string{"verify", "--url=http://127.0.0.1:3"}},
		"forecasts":      {[]string{"nothing listens at 127.0.0.1:3"}, []string{"scorecard", "--url=http://127.0.0.1:3"}},
		"a listener":     {[]string{"ADDR: cannot listen on 127.0.0.1:99999: 99999 is not a port"}, []string{"api", "--addr=127.0.0.1:99999"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out := told(t, append(tt.args, flagsOf(tt.args, t.TempDir())...)...)
			if code == 0 || jargon.MatchString(out) {
				t.Errorf("exit %d:\n%s", code, out)
			}
			for _, s := range tt.says {
				if !strings.Contains(out, s) {
					t.Errorf("it lacks %q:\n%s", s, out)
				}
			}
		})
	}
}

func TestAMistypedCommandNamesTheNearest(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"schedule lst": "did you mean `tidemark schedule list`?", "schedule pasue ingest x": "did you mean `tidemark schedule pause`?", "runs shw 3": "did you mean `tidemark runs show`?",
		"quarantine acept 1": "did you mean `tidemark quarantine accept`?", "keys rovoke x": "did you mean `tidemark keys revoke`?", "dctor": `did you mean "doctor"?`,
		"schedule xyzzy": "there are list, next, run, ", "log kye": "did you mean `tidemark log key`?", "signals crack-spread": `unknown signal "crack-spread"; did you mean crack-spread-321?`,
	} {
		code, out := told(t, strings.Fields(line)...)
		if code != 2 || !strings.Contains(out, says) {
			t.Errorf("%s: exit %d: %s, want %q", line, code, out, says)
		}
	}
}

// flagsOf returns the flag of the state folder for commands that have one.
func flagsOf(args []string, dir string) []string {
	switch args[0] {
	case "runs", "doctor", "monitor", "api":
		return []string{"--state-dir=" + dir}
	}
	return nil
}

func TestARoleBesideAnUpFindsItsRedisOrIsToldWhereItIs(t *testing.T) {
	t.Parallel()
	p := &program{}
	p.settings.World, p.settings.StateDir = "sandbox", t.TempDir()
	err := p.joinRedis()
	if err == nil || !strings.Contains(err.Error(), "REDIS_URL is not set") || !strings.Contains(err.Error(), "set REDIS_URL to redis_url in the file sandbox/connections.json of the STATE_DIR of `up`") {
		t.Errorf("no `up` has run: %v", err)
	}
	if err := os.Mkdir(p.worldDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.saveConnections(connections{DatabaseURL: "postgres://o@h/d", DatabaseWorkerURL: "postgres://w@h/d", RedisURL: "redis://h:1"}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ database, worker, redis, want string }{
		"the same folder":        {want: "redis://h:1"},
		"the same database":      {database: "postgres://o@h/d", want: "redis://h:1"},
		"the same login":         {worker: "postgres://w@h/d", want: "redis://h:1"},
		"another database":       {database: "postgres://o@h/other"},
		"a Redis of the setting": {database: "postgres://o@h/other", redis: "redis://h:2", want: "redis://h:2"},
	} {
		p.settings.DatabaseURL, p.settings.DatabaseWorkerURL, p.settings.RedisURL = tt.database, tt.worker, tt.redis
		if err := p.joinRedis(); p.settings.RedisURL != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v", name, p.settings.RedisURL, err)
		}
	}
}

// A worker connects to nothing before its settings are read.
func TestAWrongUniverseIsFoundAtTheStart(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"worker", "up"} {
		code, out := told(t, role, "--universe=tpo 300", "--database-url=postgres://u:p@127.0.0.1:1/x", "--redis-url=redis://127.0.0.1:1", "--log-level=error", "--state-dir="+t.TempDir())
		if code != 2 || !strings.Contains(out, `UNIVERSE: "tpo 300": did you mean "top 300"?`) {
			t.Errorf("%s: exit %d: %s", role, code, out)
		}
	}
}
