package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// told runs a command and returns its exit status and everything that it wrote.
func told(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, &out, &out)
	return code, out.String()
}

func TestAnOperatorPausesASchedule(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	at := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC) // a Friday, two days before New York changes its clocks
	if _, err := db.EnsureWorld(t.Context(), "replay", &at); err != nil {
		t.Fatal(err)
	}
	if err := db.SaveSchedules(t.Context(), []task.Schedule{
		{Job: task.Pick, Subject: task.Daily, Cron: "30 17 * * MON-FRI", Zone: "America/New_York", CatchUp: "all"},
		{Job: task.Accounts, Subject: task.Daily, Cron: "40 4 * * *", Zone: "UTC", CatchUp: "skip"},
	}); err != nil {
		t.Fatal(err)
	}
	command := func(want int, say []string, args ...string) {
		t.Helper()
		code, out := told(t, append(append([]string{"schedule"}, args...), "--database-url="+url, "--world=replay")...)
		if code != want {
			t.Errorf("%v: exit %d: %s", args, code, out)
		}
		for _, s := range say {
			if !strings.Contains(out, s) {
				t.Errorf("%v lacks %q:\n%s", args, s, out)
			}
		}
	}
	command(0, []string{"2026-03-06T22:30:00Z  pick", "2026-03-09T21:30:00Z  pick", "2026-03-07T04:40:00Z  accounts"}, "next", "--limit=6")
	command(2, []string{"--reason"}, "pause", "pick", "daily")
	command(0, []string{"is now paused"}, "pause", "pick", "daily", "--reason=the exchange is closed")
	command(0, []string{"was paused already"}, "pause", "pick", "daily", "--reason=again")
	command(0, []string{"since 20", ": the exchange is closed"}, "list")
	command(0, []string{`"subject": "daily"`, `"paused": "since 20`}, "list", "--json")
	command(1, []string{`no pick of "dayly"; did you mean daily?`}, "run", "pick", "dayly")
	command(1, []string{`no job "pik"; did you mean pick?`}, "resume", "pik", "daily", "--reason=x")
	command(1, []string{`no pick of "weekly"`}, "pause", "pick", "weekly", "--reason=x")
	code, out := told(t, "schedule", "next", "--database-url="+url, "--world=replay")
	if code != 0 || strings.Contains(out, "pick") {
		t.Errorf("a paused schedule has a next slot:\n%s", out)
	}
	command(0, []string{"runs again"}, "resume", "pick", "daily", "--reason=open again", "--by=ana")
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	rows, err := c.Query(t.Context(), `select concat(paused, ' ', by = 'ana', ' ', reason) from schedule_changes order by id`)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || strings.Join(kept, ", ") != "t f the exchange is closed, f t open again" {
		t.Errorf("kept: %q, %v", kept, err)
	}
}

func TestTheDoctorNamesWhatIsBadAndTheRepair(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	kept := t.TempDir()
	doctor := []string{
		"doctor", "--database-url=" + url, "--redis-url=" + pgtest.Redis(t), "--archive-url=file://" + kept + "?create_dir=true", "--state-dir=" + t.TempDir(), "--sec-user-agent=Test a@b.example",
		"--prices-folder=" + t.TempDir(), "--alert-webhook-url=http://127.0.0.1:1", "--ledger-remote=file:///nowhere",
		"--archive-cold-url=" + t.TempDir(),
	}
	for flag, role := range map[string]string{"--database-api-url=": postgres.RoleAPI, "--database-worker-url=": postgres.RoleWorker} {
		login, err := postgres.Login(t.Context(), url, role)
		if err != nil {
			t.Fatal(err)
		}
		doctor = append(doctor, flag+login)
	}
	p := &program{now: time.Now}
	p.settings.World, p.settings.SECUserAgent, p.settings.PricesFolder, p.settings.ColdURL = "live", "Test a@b.example", "x", "x"
	if err := db.SaveSchedules(t.Context(), p.schedule()); err != nil {
		t.Fatal(err)
	}
	if code, out := told(t, doctor...); code != 0 || !strings.Contains(out, "warn  grants    the API's role could fill the disk") || !strings.Contains(out, "-> run `tidemark migrate`") {
		t.Errorf("a copy, as a restore makes it, without the rights on the database: exit %d\n%s", code, out)
	}
	if err := postgres.Migrate(t.Context(), url, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	code, out := told(t, doctor...)
	if code != 0 || strings.Contains(out, "bad ") {
		t.Errorf("a healthy installation: exit %d\n%s", code, out)
	}
	for _, s := range []string{
		"ok    database ", "ok    clock ", "ok    grants ", "ok    guards ", "ok    api role ", "ok    worker role tidemark_worker can do nothing more", "ok    schedule ", "ok    redis ", "ok    archive ", "the colder one can be written", "ok    disk ", "ok    chain ", "crack-spread-321 has no value yet", "no job failed last",
		"hormuz-transit has no value yet: its source portwatch-hormuz is not asked -> read the publisher's terms, and accept them with PORTWATCH_LICENSE_ACK=yes",
		"warn  sources   portwatch-hormuz is not asked",
	} {
		if !strings.Contains(out, s) {
			t.Errorf("it lacks %q:\n%s", s, out)
		}
	}
	if !strings.Contains(out, " GB are left at "+kept+"\n") || strings.Contains(out, "skip  disk") {
		t.Errorf("it does not look at the disk of ARCHIVE_URL:\n%s", out)
	}
	// The archive was written a moment ago, and cannot be any more: below a file is no folder.
	if err := errors.Join(os.RemoveAll(filepath.Join(kept, "blobs", "00")), os.WriteFile(filepath.Join(kept, "blobs", "00"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if code, out = told(t, doctor...); code != 1 || !strings.Contains(out, "bad   archive ") || !strings.Contains(out, "it cannot be written") {
		t.Errorf("an archive that cannot be written: exit %d\n%s", code, out)
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if _, err := c.Exec(t.Context(), `
		alter table observations disable trigger user;
		update schedules set paused = true where job = 'pick';
		insert into schedule_changes (job, subject, paused, by, reason) values ('pick', 'daily', true, 'ana', 'at home');
		insert into runs (job, subject, slot, trigger, queue, status, max_attempts, failures, next_try_at, error)
		values ('ingest', 'eia-petroleum-spot', now(), 'cron', 'default', 'due', 8, 3, now() + interval '5 minutes', 'eia: https://www.eia.gov/' || repeat('x', 200) || ': temporary upstream trouble: no answer: dial tcp: lookup www.eia.gov: no such host'),
			('ingest', 'bls', now(), 'cron', 'default', 'due', 8, 1, now() + interval '5 minutes', 'write blobs/ab: no space left on device');
		insert into hosts (host, next_at) values ('api.example', now() + interval '10 minutes');
		update schedules set last_slot = now() - interval '9 days' where job = 'accounts';
		insert into runs (job, subject, slot, trigger, queue, status, max_attempts, finished_at, error)
		values ('attest', 'base', now(), 'cron', 'default', 'failed', 3, now(), 'no ether')`); err != nil {
		t.Fatal(err)
	}
	doctor[2] = "--redis-url=redis://:hunter2@127.0.0.1:1"
	code, out = told(t, doctor...)
	if code != 1 {
		t.Errorf("a sick one: exit %d", code)
	}
	for _, s := range []string{
		"bad   guards    rows of [observations] can be changed -> alter table observations enable trigger user",
		": at home -> tidemark schedule resume pick daily",
		"warn  signals   crack-spread-321 has no value yet",
		"warn  sources   ingest eia-petroleum-spot has never succeeded (attempt 3): no answer: no host has the name www.eia.gov; the next try is in ",
		"check the network and the name server", "make room: a disk is full",
		"warn  hosts     api.example asked to be left alone, and is asked again in ",
		"accounts daily was due at ", "start `tidemark scheduler`",
		"bad   work      The run of attest base for ", "no ether", "bad   redis ",
		"of the jobs, 2 failed last and 2 have never succeeded",
	} {
		if !strings.Contains(out, s) {
			t.Errorf("it lacks %q:\n%s", s, out)
		}
	}
	if strings.Contains(out, "no job failed last") {
		t.Errorf("it says that no job failed:\n%s", out)
	}
	if strings.Contains(out, "hunter2") {
		t.Errorf("it shows a password:\n%s", out)
	}
	lowered := slices.DeleteFunc(slices.Clone(doctor), func(a string) bool {
		return strings.HasPrefix(a, "--database-api-url") || strings.HasPrefix(a, "--database-worker-url")
	})
	if code, out = told(t, lowered...); code != 1 || !strings.Contains(out, "bad   api role ") || !strings.Contains(out, "warn  worker role ") ||
		strings.Count(out, "it is a superuser") != 2 {
		t.Errorf("with the owner's login: exit %d\n%s", code, out)
	}
	doctor = lowered
	doctor[1] = "--database-url=postgres://x:hunter2@127.0.0.1:1/x"
	if code, out = told(t, doctor...); code != 1 || !strings.Contains(out, "bad   database") || strings.Contains(out, "hunter2") {
		t.Errorf("without a database: exit %d\n%s", code, out)
	}
}

// awaitReady starts a command that serves OPS_ADDR, waits until it reports ready, and ends it.
func awaitReady(t *testing.T, role string, args ...string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	if code, out := told(t, "health", "--ops-addr="+addr); code != 1 {
		t.Errorf("nobody is there: exit %d: %s", code, out)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() { done <- run(ctx, append(args, "--ops-addr="+addr), io.Discard, t.Output()) }()
	var code int
	var out string
	for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); {
		if code, out = told(t, "health", "--json", "--ops-addr=0.0.0.0"+addr[strings.LastIndex(addr, ":"):]); code == 0 {
			break
		}
	}
	if code != 0 || !strings.Contains(out, `"role":"`+role+`"`) {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, said := told(t, "health", "--ops-addr="+addr); strings.Contains(said, "{") || !strings.HasPrefix(strings.TrimSpace(said), role) || !strings.Contains(said, "ready") {
		t.Errorf("a person is told: %s", said)
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("%s ends with %d", role, code)
	}
}

func TestTheQueueIsShown(t *testing.T) {
	t.Parallel()
	awaitReady(t, "queue", "queue", "--redis-url="+pgtest.Redis(t))
}

func TestAMigratedDatabaseIsServed(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	for range 2 {
		if code, out := told(t, "migrate", "--database-url="+url); code != 0 {
			t.Fatalf("exit %d: %s", code, out)
		}
	}
	api, err := postgres.Login(t.Context(), url, postgres.RoleAPI)
	if err != nil {
		t.Fatal(err)
	}
	// The password is already set and does not change.
	if code, out := told(t, "migrate", "--database-url="+url, "--database-api-url="+api); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	if code, out := told(t, "migrate", "--database-url="+url, "--database-api-url="+url); code != 1 || !strings.Contains(out, "must be tidemark_api") {
		t.Errorf("the owner as the API's login: exit %d: %s", code, out)
	}
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	if code, out := told(t, "api", "--addr=127.0.0.1:0", "--database-url="+url, "--redis-url=redis://127.0.0.1:1"); code != 2 ||
		!strings.Contains(out, "it is a superuser") || !strings.Contains(out, "DATABASE_API_URL") {
		t.Errorf("the API with the owner's login: exit %d: %s", code, out)
	}
	awaitReady(t, "api", "api", "--addr=127.0.0.1:0", "--database-url="+api, "--redis-url="+pgtest.Redis(t))
}
