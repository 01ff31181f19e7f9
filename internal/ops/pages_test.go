package ops_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"tidemark/internal/ops"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

func TestPagesShowWhatIsAndChangeNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pick("2026-03-02")
	s.snapshot("crack-spread-321", day("2026-02-01"))
	if err := s.db.SaveSchedules(t.Context(), []task.Schedule{{Job: task.Pick, Subject: task.Daily, Cron: "30 17 * * MON-FRI", Zone: "America/New_York", CatchUp: "all"}}); err != nil {
		t.Fatal(err)
	}
	s.exec(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, finished_at, error)
		values ('pick', 'daily', '2026-03-03', 'cron', 'critical', 'failed', 3, now(), 'no <closes> today')`)
	s.exec(`insert into run_attempts (run_id, attempt, worker, started_at, outcome, error, log) values
		(1, 1, 'host:1', now(), 'lost', 'lost <it>', '[{"at":"2026-03-03T01:02:03Z","level":"INFO","text":"asked for page 1"}]'),
		(1, 2, 'host:2', now(), 'running', null, '[]')`)
	s.exec(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, next_try_at)
		values ('x402', 'terms', '2026-03-01', 'data', 'timely', 'due', 3, '2226-03-04 05:06:07Z')`)
	if err := s.db.SaveAttesterState(t.Context(), task.Fence{}, postgres.AttesterState{
		Attester: postgres.Attester{Attester: "0x00000000000000000000000000000000000000aa"}, Status: postgres.AttesterOK, BalanceWei: "9999999200000000000000", RunwayDays: new(36500), CheckedAt: day("2026-03-04"),
	}); err != nil {
		t.Fatal(err)
	}
	at, err := redisurl.Parse(pgtest.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	client := asynq.NewClient(at)
	t.Cleanup(func() { _ = client.Close() })
	if _, err := client.EnqueueContext(t.Context(), asynq.NewTask(task.Signal, []byte(`{"job":"signal"}`)), asynq.Queue(task.Critical), asynq.TaskID("one")); err != nil {
		t.Fatal(err)
	}
	monitor := ops.NewMonitor(at, ops.MonitorPath)
	t.Cleanup(func() { _ = monitor.Close() })
	url := serve(t, ops.Options{Role: "scheduler", Metrics: telemetry.NewMetrics("1", "c", time.Now), StatusPages: &ops.StatusPages{
		Observer: s.observer, Stylesheet: []byte("body{}"), Icon: []byte("icon"),
		Next: func(task.Schedule, time.Time) time.Time { return day("2026-03-05") },
	}, Monitor: monitor})
	for path, want := range map[string][]string{
		"/":                     {"crack-spread-321", `class="state ">stale`, "no &lt;closes&gt; today", "<dd>1</dd>", "its job has not run yet", "the role <code>scheduler</code>", "9,999.9992 ether, enough for more than 10 years of gas", "0 due, 0 queued, 1 for a later time"},
		"/schedule":             {"30 17 * * MON-FRI", "2026-03-05 00:00:00Z", `class="state">failed`},
		"/runs?status=failed":   {"<option selected>failed", "no &lt;closes&gt; today", "2026-03-03 00:00:00Z"},
		"/runs?status=skipped":  {"No run."},
		"/runs?status=due":      {`due</span> from 2226-03-04 05:06:07Z</td>`},
		"/runs/2":               {`due</span> from 2226-03-04 05:06:07Z`},
		"/runs/1":               {"pick daily", "2026-03-03 00:00:00Z", "host:1", "lost &lt;it&gt;", "asked for page 1", `class="state warn">running`},
		"/quarantine":           {"Nothing was ever held back."},
		"/backfills":            {"No backfill was ever planned."},
		"/style.css":            {"body{}"},
		"/favicon.ico":          {"icon"},
		"/queue/":               {"<div id=\"root\">"},
		"/queue/api/redis_info": {"redis_version"},
	} {
		status, body := get(t, url+path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s lacks %s:\n%s", path, w, body)
			}
		}
	}
	if _, page := get(t, url+"/queue/"); regexp.MustCompile(`(?:src|href)="(?:https?:)?//`).MatchString(page) || !strings.Contains(page, "/queue/static/js/main") {
		t.Errorf("the monitor refers to another host, or lacks its scripts:\n%s", page)
	}
	for path, want := range map[string]string{
		"/runs?status=faild":         "The status &#34;faild&#34; is not known; did you mean failed?",
		"/runs?job=pik":              "The job &#34;pik&#34; is not known; did you mean pick?",
		"/runs?subject=dayly":        "The subject &#34;dayly&#34; is not known; did you mean daily?",
		"/runs?subject=zzz":          "The subject &#34;zzz&#34; is not known; there are ",
		"/runs?staus=failed":         "The parameter &#34;staus&#34; is not known; did you mean status?",
		"/runs?subject=signal&x=%3C": "The parameter &#34;x&#34; is not known; there are job, subject, status",
	} {
		if status, body := get(t, url+path); status != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: %d, want %q:\n%s", path, status, want, body)
		}
	}
	for path, want := range map[string]string{"/runs/999": "There is no run 999.", "/runs/abc": "&#34;abc&#34; is not the number of a run.", "/runs/-1": "is not the number"} {
		if status, body := get(t, url+path); status != http.StatusNotFound || !strings.Contains(body, want) {
			t.Errorf("%s: %d, want %q:\n%s", path, status, want, body)
		}
	}
	policy := responseHeader(t, url+"/queue/", "").Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'self';") || strings.Contains(policy, "http") || !strings.Contains(policy, "style-src 'self'") {
		t.Errorf("the monitor may load from elsewhere: %q", policy)
	}
	_, body := get(t, url+"/queue/api/queues/critical/pending_tasks")
	var tasks struct{ Tasks []struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &tasks); err != nil || len(tasks.Tasks) != 1 || tasks.Tasks[0].ID != "one" {
		t.Errorf("the monitor shows %s: %v", body, err)
	}
	for _, c := range [][2]string{
		{http.MethodDelete, "/queue/api/queues/critical/pending_tasks/one"}, {http.MethodPost, "/queue/api/queues/critical:pause"}, {http.MethodPost, "/runs"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c[0], url+c[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %d", c[0], c[1], resp.StatusCode)
		}
	}
	if _, body := get(t, url+"/queue/api/queues/critical"); !strings.Contains(body, `"size":1`) || !strings.Contains(body, `"paused":false`) {
		t.Errorf("after that: %s", body)
	}
}
