package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

const opsToken = "0123456789abcdef0123"

// browser is a browser that posts from pages of the same address or of another origin.
type browser struct {
	t      *testing.T
	url    string
	origin string
	cookie *http.Cookie
}

// post sends a form with alternating fields and values. It returns the status, the body and the redirect.
func (b *browser) post(path, authorization string, fields ...string) (status int, body, to string) {
	b.t.Helper()
	form := url.Values{}
	for pair := range slices.Chunk(fields, 2) {
		form.Set(pair[0], pair[1])
	}
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if b.origin != "" {
		req.Header.Set("Origin", b.origin)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range resp.Cookies() {
		b.cookie = c
	}
	return resp.StatusCode, string(text), resp.Header.Get("Location")
}

// page reads a page as the browser would.
func (b *browser) page(path string) string {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// acting serves the pages of a fixture with a scheduled job, a failed run of it, and an answer in quarantine.
func acting(t *testing.T, acts *ops.Actions) (*fixture, *browser) {
	t.Helper()
	s := newFixture(t)
	if err := s.db.SaveSchedules(t.Context(), []task.Schedule{{Job: task.Signal, Subject: "crack-spread-321", Cron: "0 1 * * *", Zone: "UTC", CatchUp: "latest"}}); err != nil {
		t.Fatal(err)
	}
	s.exec(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, finished_at, error)
		values ('signal', 'crack-spread-321', '2026-03-01', 'cron', 'default', 'failed', 3, now(), 'no prices'),
			('signal', 'crack-spread-321', '2026-02-27', 'cron', 'default', 'succeeded', 3, now(), null),
			('signal', 'crack-spread-321', '2026-02-26', 'backfill', 'default', 'failed', 3, now(), 'no prices')`)
	fetch, err := s.db.RecordFetch(t.Context(), series.Fetch{
		Source: "test", URL: "https://upstream.example/", Status: 200, FetchedAt: day("2026-03-01"), SHA256: strings.Repeat("a", 64), Bytes: 1,
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Quarantine(t.Context(), task.Fence{}, postgres.Quarantined{
		Source: "test", Digest: strings.Repeat("d", 64), CreatedAt: day("2026-03-01"), Findings: []series.Finding{{Check: "range", Severity: "error", Observed: "1", Expected: "2"}},
	}, []int64{fetch}); err != nil {
		t.Fatal(err)
	}
	if acts != nil {
		acts.DB, acts.Token = s.db, opsToken
		if acts.Now == nil {
			acts.Now = time.Now
		}
	}
	at := serve(t, ops.Options{Role: "worker", Metrics: telemetry.NewMetrics("1", "c", time.Now), StatusPages: &ops.StatusPages{
		Observer: s.observer, Next: func(task.Schedule, time.Time) time.Time { return day("2026-03-05") }, Actions: acts,
	}})
	return s, &browser{t: t, url: at, origin: at}
}

func (s *fixture) actions() []postgres.Action {
	s.t.Helper()
	list, err := s.db.Actions(s.t.Context(), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

var forms = []string{
	"/schedule/run", "/schedule/pause", "/schedule/resume", "/runs/1/retry", "/quarantine/1/accept", "/quarantine/1/reject", "/backfills/1/apply",
}

func TestWithoutATokenThePagesOnlyShow(t *testing.T) {
	t.Parallel()
	s, b := acting(t, nil)
	for _, path := range append(slices.Clone(forms), "/session", "/session/end") {
		if status, _, _ := b.post(path, "Bearer ", "job", "signal", "subject", "crack-spread-321", "by", "ann", "reason", "r"); status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, path := range []string{"/", "/schedule", "/runs/1", "/quarantine", "/backfills", "/actions"} {
		if page := b.page(path); strings.Contains(page, `method="post"`) || strings.Contains(page, "Sign in") || !strings.Contains(page, "Nothing here changes anything") {
			t.Errorf("%s offers an action:\n%s", path, page)
		}
	}
	if list := s.actions(); len(list) != 0 {
		t.Errorf("done: %+v", list)
	}
}

func TestAnActionWithTheTokenIsDoneAndKeptWithWhoAndWhy(t *testing.T) {
	t.Parallel()
	var applied, accepted int64
	s, b := acting(t, &ops.Actions{
		Apply: func(_ context.Context, id int64) error { applied = id; return errors.New("the world has changed") },
		Accept: func(_ context.Context, id int64, d postgres.Decision) (int64, error) {
			if d.By != "ann" || d.Reason != "true after all" || d.At.IsZero() {
				t.Errorf("decided %+v", d)
			}
			accepted = id
			return 7, nil
		},
	})
	b.origin = "" // a program
	job := []string{"job", "signal", "subject", "crack-spread-321"}
	for _, c := range []struct {
		path, authorization string
		fields              []string
		status              int
		says                string
	}{
		{"/schedule/run", "", append(job, "by", "ann", "reason", "r"), 401, "Sign in"},
		{"/schedule/run", "Bearer x", append(job, "by", "ann", "reason", "r"), 401, "not OPS_TOKEN"},
		{"/schedule/run", "Bearer " + opsToken + "0", append(job, "by", "ann", "reason", "r"), 401, "not OPS_TOKEN"},
		{"/schedule/run", "Bearer " + opsToken, append(job, "reason", "r"), 400, "by is empty"},
		{"/schedule/run", "Bearer " + opsToken, append(job, "by", "ann", "reason", " "), 400, "reason is empty"},
		{"/schedule/run", "Bearer " + opsToken, []string{"job", "signal", "subject", "x", "by", "ann", "reason", "r"}, 404, `no signal of "x"; there are crack-spread-321`},
		{"/schedule/run", "Bearer " + opsToken, []string{"job", "signal", "subject", "crack-spread-32", "by", "ann", "reason", "r"}, 404, "did you mean crack-spread-321?"},
		{"/schedule/pause", "Bearer " + opsToken, []string{"job", "signl", "subject", "crack-spread-321", "by", "ann", "reason", "r"}, 404, `no job "signl"; did you mean signal?`},
		{"/runs/999/retry", "Bearer " + opsToken, []string{"by", "ann", "reason", "r"}, 404, "no run 999"},
	} {
		if status, body, _ := b.post(c.path, c.authorization, c.fields...); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %q %v: %d %s, want %d and %q", c.path, c.authorization, c.fields, status, body, c.status, c.says)
		}
	}
	if list := s.actions(); len(list) != 0 {
		t.Fatalf("what was refused is kept as done: %+v", list)
	}
	for _, c := range []struct {
		path, reason string
		status       int
		subject      string
		detail       string
	}{
		{"/schedule/pause", "their site moves", 200, "signal crack-spread-321", "it is now paused"},
		{"/schedule/pause", "once more", 200, "signal crack-spread-321", "it was paused already"},
		{"/schedule/resume", "it has moved", 200, "signal crack-spread-321", "it runs again"},
		{"/schedule/run", "to see it", 200, "signal crack-spread-321", "run 4 is due"},
		{"/runs/1/retry", "prices are there", 200, "run 1 (signal crack-spread-321)", "run 1 is due"},
		{"/runs/1/retry", "twice", 409, "run 1 (signal crack-spread-321)", "it is due: only what failed or was skipped is tried again"},
		{"/runs/2/retry", "r", 409, "run 2 (signal crack-spread-321)", "it is succeeded: only what failed or was skipped is tried again"},
		{"/runs/3/retry", "r", 409, "run 3 (signal crack-spread-321)", "it is of a backfill: `tidemark backfill retry-failed` tries it again"},
		{"/quarantine/1/accept", "true after all", 200, "quarantine 1", "7 vintages were added, known from 2026-03-02T22:30:00Z"},
		{"/quarantine/1/reject", "an error of theirs", 200, "quarantine 1", "it stays out, now and whenever it comes again"},
		{"/quarantine/9/reject", "r", 409, "quarantine 9", "not found"},
		{"/backfills/5/apply", "as agreed", 409, "plan 5", "the world has changed"},
	} {
		status, body, _ := b.post(c.path, "Bearer "+opsToken, append(job, "by", "ann", "reason", c.reason)...)
		var done postgres.Action
		if err := json.Unmarshal([]byte(body), &done); err != nil || status != c.status {
			t.Fatalf("%s: %d %s (%v), want %d", c.path, status, body, err, c.status)
		}
		kept := s.actions()[0]
		if done.EndedAt == nil || !done.EndedAt.Equal(*kept.EndedAt) || !done.At.Equal(kept.At) {
			t.Errorf("%s: the answer says from %s to %v, kept is %s to %s", c.path, done.At, done.EndedAt, kept.At, kept.EndedAt)
		}
		if kept.ID != done.ID || kept.By != "ann" || kept.Reason != c.reason || kept.Subject != c.subject || !strings.Contains(*kept.Detail, c.detail) ||
			*kept.Failed != (c.status != 200) || kept.EndedAt.Before(kept.At) {
			t.Errorf("%s: kept %+v of %s (%s)", c.path, kept, c.subject, *kept.Detail)
		}
	}
	if applied != 5 || accepted != 1 {
		t.Errorf("applied %d, accepted %d", applied, accepted)
	}
	runs, err := s.db.Runs(t.Context(), postgres.RunFilter{ID: 1, Limit: 1})
	if err != nil || runs[0].Status != "due" || !strings.HasPrefix(*runs[0].Reason, "prices are there (ann, action ") {
		t.Errorf("%+v (%v)", runs, err)
	}
}

func TestABrowserActsOnlyFromPagesOfTheListener(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, b := acting(t, &ops.Actions{Now: func() time.Time { return now }})
	here := b.origin
	if !strings.Contains(b.page("/schedule"), `href="/session"`) || strings.Contains(b.page("/schedule"), `method="post"`) {
		t.Error("who is not signed in is offered an action")
	}
	signIn := func(token string) int {
		status, _, _ := b.post("/session", "", "by", "ann <b>", "token", token)
		return status
	}
	if got := signIn("not the token, but long"); got != http.StatusUnauthorized || b.cookie != nil {
		t.Errorf("a wrong token: %d", got)
	}
	b.origin = "http://attacker.example"
	if got := signIn(opsToken); got != http.StatusForbidden || b.cookie != nil {
		t.Errorf("a page of another site signs in: %d", got)
	}
	b.origin = here
	if got := signIn(opsToken); got != http.StatusSeeOther || b.cookie == nil {
		t.Fatalf("sign in: %d", got)
	}
	if c := b.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, opsToken) {
		t.Errorf("the cookie: %+v", c)
	}
	if page := b.page("/schedule"); !strings.Contains(page, `formaction="/schedule/pause"`) || !strings.Contains(page, "ann &lt;b&gt;") {
		t.Errorf("who signed in cannot act:\n%s", page)
	}
	if page := b.page("/quarantine"); strings.Contains(page, `/accept"`) || !strings.Contains(page, `formaction="/quarantine/1/reject"`) {
		t.Errorf("a process without the archive offers to accept:\n%s", page)
	}
	fields := []string{"job", "signal", "subject", "crack-spread-321", "reason", "<why>"}
	good := *b.cookie
	for name, attack := range map[string]func(){
		"another site":         func() { b.origin = "http://attacker.example" },
		"another port":         func() { b.origin = "http://127.0.0.1:1" },
		"no origin":            func() { b.origin = "" },
		"a frame of no origin": func() { b.origin = "null" },
		"no cookie":            func() { b.cookie = nil },
		"a cookie of another": func() {
			b.cookie.Value = "eyJieSI6ImV2ZSIsInVudGlsIjoiMjA5OS0wMS0wMVQwMDowMDowMFoifQ" + b.cookie.Value[strings.Index(b.cookie.Value, "."):]
		},
		"a cookie without a seal": func() { b.cookie.Value, _, _ = strings.Cut(b.cookie.Value, ".") },
		"a session that is over":  func() { now = now.Add(13 * time.Hour) },
	} {
		was, cookie := now, good
		b.origin, b.cookie = here, &cookie
		attack()
		for _, path := range forms {
			if status, _, _ := b.post(path, "", fields...); status != http.StatusForbidden && status != http.StatusUnauthorized {
				t.Errorf("%s: %s: %d", name, path, status)
			}
		}
		now = was
	}
	if list := s.actions(); len(list) != 0 {
		t.Fatalf("done: %+v", list)
	}
	b.origin, b.cookie = here, &good
	status, _, to := b.post("/schedule/pause", "", append(fields, "by", "somebody else")...)
	if list := s.actions(); status != http.StatusSeeOther || to != "/actions#a1" || len(list) != 1 || list[0].By != "ann <b>" {
		t.Errorf("%d to %s: %+v", status, to, list)
	}
	if page := b.page("/actions"); !strings.Contains(page, "&lt;why&gt;") || !strings.Contains(page, "it is now paused") || !strings.Contains(page, `id="a1"`) {
		t.Errorf("the actions:\n%s", page)
	}
	if status, body, _ := b.post("/quarantine/1/accept", "", fields...); status != http.StatusNotFound || !strings.Contains(body, "tidemark quarantine accept") {
		t.Errorf("accept without an archive: %d %s", status, body)
	}
	if status, _, _ := b.post("/session/end", ""); status != http.StatusSeeOther || b.cookie.MaxAge >= 0 {
		t.Errorf("sign out: %d %+v", status, b.cookie)
	}
}

func TestWhatOperatorsDidIsNeverChanged(t *testing.T) {
	t.Parallel()
	s, b := acting(t, &ops.Actions{})
	ctx := t.Context()
	id, _, err := s.db.BeginAction(ctx, postgres.Action{Action: postgres.ActionRun, Subject: "s", By: "ann", Reason: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if page := b.page("/actions"); !strings.Contains(page, "under way, or cut off") { // its process ended
		t.Errorf("the actions:\n%s", page)
	}
	if _, err := s.db.EndAction(ctx, id, false, "d"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.EndAction(ctx, id, true, "otherwise"); err == nil {
		t.Error("an action has two outcomes")
	}
	for _, a := range []postgres.Action{
		{Action: "drop", Subject: "s", By: "ann", Reason: "r"},
		{Action: postgres.ActionRun, Subject: "s", By: " ", Reason: "r"},
		{Action: postgres.ActionRun, Subject: "s", By: "ann", Reason: ""},
		{Action: postgres.ActionRun, By: "ann", Reason: "r"},
	} {
		if _, _, err := s.db.BeginAction(ctx, a); err == nil {
			t.Errorf("kept: %+v", a)
		}
	}
	c, err := pgx.Connect(ctx, s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{
		"update operator_actions set by = 'eve'", "delete from operator_outcomes", "truncate operator_actions cascade", "delete from operator_actions",
		"set role tidemark_worker; insert into operator_actions (at, action, subject, by, reason) values ('2020-01-01', 'run', 's', 'b', 'r')",
	} {
		if _, err := c.Exec(ctx, sql); err == nil {
			t.Errorf("%s is allowed", sql)
		}
	}
}
