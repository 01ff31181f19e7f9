package ops_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/api/view"
	"tidemark/chain/tlog"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// webhookRecorder is a receiver of webhooks.
type webhookRecorder struct {
	mu     sync.Mutex
	status int
	got    []string
}

func (h *webhookRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct{ State, Kind, Subject, Text, Installation string }
	_ = json.NewDecoder(r.Body).Decode(&m)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, fmt.Sprintf("%s %s %s %d", m.State, m.Kind, m.Subject, h.status))
	if !strings.Contains(m.Text, m.Subject) || m.Installation != "https://tide.example" {
		h.got = append(h.got, "without text")
	}
	w.WriteHeader(h.status)
}

func (h *webhookRecorder) since(status int) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := h.got
	h.got, h.status = nil, status
	return got
}

// mailbox is an SMTP server that accepts everything.
type mailbox struct {
	addr string
	mu   sync.Mutex
	got  []string
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	m := &mailbox{addr: ln.Addr().String()}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go m.talk(c)
		}
	}()
	return m
}

// talk is the server's side of RFC 5321, section 4.1.
func (m *mailbox) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	say := func(s string) { _, _ = fmt.Fprint(c, s+"\r\n") }
	say("220 ready")
	in := bufio.NewScanner(c)
	for in.Scan() {
		switch verb := strings.ToUpper(strings.Fields(in.Text() + " x")[0]); verb {
		case "EHLO", "HELO":
			say("250 tide.example")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for in.Scan() && in.Text() != "." {
				text.WriteString(in.Text() + "\n")
			}
			m.mu.Lock()
			m.got = append(m.got, text.String())
			m.mu.Unlock()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (m *mailbox) subjects() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range m.got {
		for line := range strings.Lines(text) {
			if s, ok := strings.CutPrefix(line, "Subject: "); ok {
				list = append(list, strings.TrimSpace(s))
			}
		}
	}
	m.got = nil
	return list
}

func TestAnAlertIsToldOnceAndItsEndToo(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.snapshot("crack-spread-321", day("2026-02-01"))
	s.exec(`update world set clock_at = null`) // alerts need a world in the present
	h, box := &webhookRecorder{status: 500}, newMailbox(t)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	letters, err := ops.NewMail(ops.Mail{Server: "smtp://" + box.addr, From: "tidemark@tide.example", To: []string{"you@tide.example"}})
	if err != nil {
		t.Fatal(err)
	}
	round := func() {
		t.Helper()
		var g sync.WaitGroup // as many schedulers as you like
		for range 3 {
			g.Go(func() {
				a := ops.Alerter{
					Observer: s.observer, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), ResolveDelay: time.Nanosecond,
					Channels: map[string]ops.Channel{"webhook": ops.Webhook{URL: srv.URL, Installation: "https://tide.example"}, "mail": letters},
				}
				if err := a.RunOnce(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		g.Wait()
	}
	want := func(what string, hooks, mails []string, status int) {
		t.Helper()
		if d := cmp.Diff(hooks, h.since(status)); d != "" {
			t.Errorf("%s: webhooks (-want +got):\n%s", what, d)
		}
		if d := cmp.Diff(mails, box.subjects()); d != "" {
			t.Errorf("%s: mails (-want +got):\n%s", what, d)
		}
	}
	round()
	want("raised, and the webhook is broken", []string{"raised signal-stale crack-spread-321 500"},
		[]string{"[tidemark] Alert: signal-stale crack-spread-321"}, 204)
	round()
	want("still so", nil, nil, 204)
	s.exec(`update alert_messages set next_try_at = now()`) // the pause is over
	round()
	want("the webhook works again", []string{"raised signal-stale crack-spread-321 204"}, nil, 204)
	open, err := s.db.Alerts(t.Context(), false, 10)
	if err != nil || len(open) != 1 {
		t.Fatalf("open alerts: %v, %v", open, err)
	}
	s.snapshot("crack-spread-321", time.Now())
	round()
	want("over", []string{"resolved signal-stale crack-spread-321 204"}, []string{"[tidemark] Resolved: signal-stale crack-spread-321"}, 204)
	round()
	want("long over", nil, nil, 204)
	if all, err := s.db.Alerts(t.Context(), true, 10); err != nil || len(all) != 1 || all[0].ResolvedAt == nil {
		t.Errorf("all alerts: %+v, %v", all, err)
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	at := day("2026-03-05")
	failed := int64(7)
	for name, c := range map[string]struct {
		state ops.State
		want  []string
	}{
		"all is well":        {ops.State{At: at, Now: at, Signals: []ops.Freshness{{Signal: "a", State: view.Fresh}}, Ledger: &postgres.LedgerState{Status: "pushed"}}, nil},
		"a new installation": {ops.State{At: at, Now: at, Signals: []ops.Freshness{{Signal: "a", State: view.Unknown}}}, nil},
		"a stale signal, unless it is deprecated": {ops.State{Signals: []ops.Freshness{
			{Signal: "a", State: view.Stale, Status: "decayed"}, {Signal: "b", State: view.Stale, Status: "deprecated"},
		}}, []string{"warning signal-stale a"}},
		"a failed pick": {ops.State{Jobs: []postgres.JobStatus{{Job: "pick", Subject: "daily", Failed: &failed}}}, []string{"error job-failed pick daily"}},
		"a first attempt that is of no use to repeat": {ops.State{Troubled: []postgres.Troubled{
			{Job: "ingest", Subject: "a", Lasting: true, Failures: 1, MaxAttempts: 8}, {Job: "ingest", Subject: "b", Failures: 3, MaxAttempts: 8},
		}}, []string{"error job-failed ingest a"}},
		"a run that is late": {ops.State{Now: at, Late: []postgres.Late{
			{Job: "ingest", Subject: "a", Since: at.Add(-time.Hour), Usual: new(time.Minute), Error: new("no answer")},
		}}, []string{"warning job-late ingest a"}},
		"a run that was late only because the installation was stopped": {ops.State{Now: at, Began: at.Add(-10 * time.Minute), Late: []postgres.Late{
			{Job: "ingest", Subject: "a", Since: at.Add(-time.Hour), Allowed: 30 * time.Minute},
		}}, []string{"warning job-late ingest a, quiet"}},
		"a run that is late since the installation was started again": {ops.State{Now: at, Began: at.Add(-31 * time.Minute), Late: []postgres.Late{
			{Job: "ingest", Subject: "a", Since: at.Add(-time.Hour), Allowed: 30 * time.Minute},
		}}, []string{"warning job-late ingest a"}},
		"a missing pick":        {ops.State{PickMissing: at}, []string{"error pick-missing 2026-03-05"}},
		"a log that is stopped": {ops.State{Logs: []postgres.LogHealth{{Log: "record", Stopped: "x"}}}, []string{"error log record"}},
		"a log whose rounds fail": {
			ops.State{Now: at, Logs: []postgres.LogHealth{{Log: "record", Waits: "x", WaitsSince: new(at.Add(-4 * time.Minute))}}}, []string{"error log record"},
		},
		"a log whose last round failed": {ops.State{Now: at, Logs: []postgres.LogHealth{{Log: "record", Waits: "x", WaitsSince: new(at.Add(-time.Minute))}}}, nil},
		"a log that nobody numbers": {
			ops.State{Now: at, Logs: []postgres.LogHealth{{Log: "sources", Pending: 9, OldestPending: new(at.Add(-4 * time.Minute))}}}, []string{"error log sources"},
		},
		"a body that was signed in time": {ops.State{Logs: []postgres.LogHealth{{Log: "sources", BodySigned: new(time.Minute)}}}, nil},
		"a body that was signed late":    {ops.State{Logs: []postgres.LogHealth{{Log: "sources", BodySigned: new(61 * time.Second)}}}, []string{"warning log-late sources"}},
		"a leaf that was set aside":      {ops.State{Logs: []postgres.LogHealth{{Log: "record", Aside: 1, AsideKey: "pick:3"}}}, []string{"error log-aside record"}},
		"a seal that was not opened": {
			ops.State{SealFaults: []tlog.SealedDay{{Date: "2026-03-04", Fault: tlog.SealMissing}}}, []string{"error seal 2026-03-04"},
		},
		"a broken chain":                {ops.State{Chain: ops.ChainState{Fault: "x"}}, []string{"error chain-invalid "}},
		"a diverged ledger":             {ops.State{Ledger: &postgres.LedgerState{Status: "diverged"}}, []string{"error ledger diverged"}},
		"a ledger whose remote is away": {ops.State{Ledger: &postgres.LedgerState{Status: "pending"}}, nil},
		"low gas":                       {ops.State{Attester: &postgres.AttesterState{Status: "ok", RunwayDays: new(13)}}, []string{"warning attester-gas "}},
		"gas for two weeks":             {ops.State{Attester: &postgres.AttesterState{Status: "ok", RunwayDays: new(14)}}, nil},
		"late attestations": {ops.State{
			At: at, Now: at, Attester: &postgres.AttesterState{Status: "ok"}, Record: postgres.RecordStatus{UnattestedSince: new(at.Add(-25 * time.Hour))},
		}, []string{"warning attestation-late "}},
		"attestations of a sandbox that has just reached the present": {ops.State{
			At: at, Now: at, Began: at.Add(-time.Second), Attester: &postgres.AttesterState{Status: "ok"}, Record: postgres.RecordStatus{UnattestedSince: new(at.Add(-25 * time.Hour))},
		}, nil},
		"attestations that are off": {ops.State{
			At: at, Attester: &postgres.AttesterState{Status: "off"}, Record: postgres.RecordStatus{UnattestedSince: new(at.Add(-25 * time.Hour))},
		}, nil},
		"no backup ever":                     {ops.State{Now: at}, nil},
		"last night's backup":                {ops.State{Now: at, BackedUpAt: new(at.Add(-25 * time.Hour))}, nil},
		"a backup that was missed":           {ops.State{Now: at, BackedUpAt: new(at.Add(-27 * time.Hour))}, []string{"error backup-late "}},
		"a payment that is not on the chain": {ops.State{Unpaid: 1, FirstUnpaid: 7}, []string{"error payment-missing "}},
		"work that waits":                    {ops.State{Now: at, Open: postgres.OpenRuns{Oldest: new(at.Add(-16 * time.Minute))}}, []string{"error work-waits "}},
		"work that waited while nothing ran": {
			ops.State{Now: at, Began: at.Add(-20 * time.Second), Open: postgres.OpenRuns{Oldest: new(at.Add(-16 * time.Minute))}}, nil,
		},
		"work that waits since a restart": {
			ops.State{Now: at, Began: at.Add(-time.Minute), Open: postgres.OpenRuns{Oldest: new(at.Add(-16 * time.Minute))}}, []string{"error work-waits "},
		},
	} {
		var got []string
		for _, a := range ops.Conditions(c.state, ops.Limits{}) {
			text := a.Severity + " " + a.Kind + " " + a.Subject
			if a.Quiet {
				text += ", quiet"
			}
			got = append(got, text)
			if len(a.Text) < 20 || strings.Contains(a.Text, "%!") {
				t.Errorf("%s: %q", name, a.Text)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestTheFirstFailureIsTold checks that a lasting failure, such as a changed page, raises an alert before the eighth attempt. A slot that
// is later than usual for its source raises an alert too.
func TestTheFirstFailureIsTold(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	told := func() (got []string) {
		t.Helper()
		for _, a := range ops.Conditions(s.look(), ops.Limits{}) {
			if strings.HasPrefix(a.Kind, "job-") {
				got = append(got, a.Kind+" "+a.Subject)
			}
		}
		return got
	}
	attempt := func(subject string, lasting bool) {
		t.Helper()
		slot := time.Now().UTC().Truncate(time.Microsecond)
		id, err := s.db.AddRun(t.Context(), task.Ingest, subject, slot, "test")
		if err != nil {
			t.Fatal(err)
		}
		s.exec(`update runs set status = 'queued' where id = ` + strconv.FormatInt(id, 10))
		f := task.Fence{RunID: id, Attempt: 1}
		if ok, err := s.db.Claim(t.Context(), f, "test"); err != nil || !ok {
			t.Fatalf("claimed %t, %v", ok, err)
		}
		if over, err := s.db.Fail(t.Context(), f, "what went wrong", time.Minute, false, lasting); err != nil || over {
			t.Fatalf("over %t, %v", over, err)
		}
	}
	for n := range 5 {
		s.exec(fmt.Sprintf(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, created_at, started_at, finished_at)
			select 'ingest', subject, now() - interval '%d days', 'cron', 'default', 'succeeded', 8, now() - interval '%[1]d days',
				now() - interval '%[1]d days', now() - interval '%[1]d days' + took
			from (values ('quick', interval '2 minutes'), ('slow', interval '2 hours')) v(subject, took)`, n+1))
	}
	// One trouble of forty minutes does not become the habit: the next one is told as soon.
	s.exec(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, created_at, started_at, finished_at)
		values ('ingest', 'quick', now() - interval '150 minutes', 'cron', 'default', 'succeeded', 8, now() - interval '150 minutes',
			now() - interval '150 minutes', now() - interval '110 minutes')`)
	attempt("quick", false)
	attempt("slow", false)
	if got := told(); got != nil {
		t.Errorf("what passes by itself is told at once: %v", got)
	}
	attempt("changed", true)
	if d := cmp.Diff([]string{"job-failed ingest changed"}, told()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	s.exec(`update runs set created_at = created_at - interval '12 minutes' where status = 'due'`)
	if d := cmp.Diff([]string{"job-failed ingest changed", "job-late ingest quick"}, told()); d != "" {
		t.Errorf("twelve minutes later (-want +got):\n%s", d)
	}
	// A run that waits on purpose, such as an attestation for its block, has half an hour.
	s.exec(`update runs set failures = 0 where status = 'due' and subject = 'quick'`)
	if d := cmp.Diff([]string{"job-failed ingest changed"}, told()); d != "" {
		t.Errorf("what waits without a failure (-want +got):\n%s", d)
	}
	// Its time came while the installation was stopped; then it is begun, and then a worker stops and gives it back.
	for _, now := range []string{"next_try_at = now() - interval '1 minute'", "status = 'running'", "status = 'due', next_try_at = null"} {
		s.exec(`update runs set ` + now + ` where status in ('due', 'running') and subject = 'quick'`)
		if d := cmp.Diff([]string{"job-failed ingest changed"}, told()); d != "" {
			t.Errorf("what waits without a failure, after %s (-want +got):\n%s", now, d)
		}
	}
	s.exec(`update runs set created_at = created_at - interval '20 minutes' where status = 'due' and subject = 'quick'`)
	if d := cmp.Diff([]string{"job-failed ingest changed", "job-late ingest quick"}, told()); d != "" {
		t.Errorf("what waits for half an hour (-want +got):\n%s", d)
	}
	s.exec(`update runs set status = 'succeeded', finished_at = now() where status = 'due'`)
	if got := told(); got != nil {
		t.Errorf("when all is done: %v", got)
	}
}

// A restart neither raises an alert about the time in which the installation was stopped, nor resolves one.
func TestAQuietFaultKeepsAnAlertAndRaisesNone(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	save := func(quiet bool) (raised, resolved int) {
		t.Helper()
		r, o, err := s.db.SaveAlerts(t.Context(), []postgres.Alert{
			{Kind: "job-late", Subject: "ingest a", Severity: postgres.AlertWarning, Text: "It is late.", Quiet: quiet},
		}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(r), len(o)
	}
	for n, c := range []struct {
		quiet bool
		want  int
	}{{true, 0}, {false, 1}, {true, 0}, {false, 0}} {
		if raised, resolved := save(c.quiet); raised != c.want || resolved != 0 {
			t.Errorf("in round %d: %d raised, %d resolved, want %d and 0", n, raised, resolved, c.want)
		}
	}
}

func TestMailFaultsAreNamed(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]ops.Mail{
		"ALERT_SMTP_URL":  {Server: "https://x:hunter2@h", From: "a@b.example", To: []string{"a@b.example"}},
		"ALERT_MAIL_FROM": {Server: "smtp://h", From: "nobody", To: []string{"a@b.example"}},
		"ALERT_MAIL_TO":   {Server: "smtps://h:4", From: "a@b.example", To: []string{"x"}},
	} {
		if _, err := ops.NewMail(m); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v", m, err)
		}
	}
}
