package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

func TestTheRunLogIsSelectedAndPrinted(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	at := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	if _, err := db.EnsureWorld(t.Context(), "replay", &at); err != nil {
		t.Fatal(err)
	}
	why := strings.Repeat("because ", 30)
	for _, ago := range []time.Duration{0, 47 * time.Hour, 24 * time.Hour * 30} {
		if _, err := db.AddRun(t.Context(), "signal", "crack-spread-321", at.Add(-ago), why); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		says string
		rows int
	}{
		{nil, 0, "2026-03-06T12:00:00Z", 3},
		{[]string{"--since=24h"}, 0, "2026-03-06T12:00:00Z", 1},
		{[]string{"--since=2d"}, 0, "2026-03-04T13:00:00Z", 2},
		{[]string{"--since=2026-01-01"}, 0, "2026-02-04T12:00:00Z", 3},
		{[]string{"--since=2026-03-06T12:00:00Z"}, 0, "2026-03-06T12:00:00Z", 1},
		{[]string{"--since=yesterday"}, 2, `--since: "yesterday" is not a time`, 0},
		{[]string{"--status=faild"}, 2, `--status: "faild" is not known; did you mean failed?`, 0},
		{[]string{"--status=x"}, 2, "there are due, queued, running, succeeded, failed, skipped", 0},
		{[]string{"--job=signl"}, 2, `--job: "signl" is not known; did you mean signal?`, 0},
		{[]string{"--subject=crack-spread-312"}, 2, `--subject: the subject "crack-spread-312" is not known`, 0},
		{[]string{"--subject=zzz"}, 2, `--subject: the subject "zzz" is not known`, 0},
		{[]string{"--world=live"}, 2, "DATABASE_URL names a database of the world replay, WORLD asks for live", 0},
	} {
		code, out := told(t, append([]string{"runs", "--database-url=" + url, "--world=replay"}, c.args...)...)
		if n := strings.Count(out, "crack-spread-321"); code != c.code || !strings.Contains(out, c.says) || n != c.rows {
			t.Errorf("%v: exit %d, %d rows, want %d, %d and %q:\n%s", c.args, code, n, c.code, c.rows, c.says, out)
		}
	}
	code, out := told(t, "runs", "--json", "--database-url="+url, "--world=replay")
	var list []struct {
		ID      int64
		Slot    time.Time
		Error   *string
		Reason  string
		Trigger string
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list) != 3 {
		t.Fatalf("--json: exit %d, %v:\n%s", code, err, out)
	}
	if r := list[0]; !r.Slot.Equal(at) || r.Error != nil || r.Reason != why || r.Trigger != "manual" {
		t.Errorf("the newest run is %+v", r)
	}
	// The reason for a run is not an error.
	_, out = told(t, "runs", "--limit=1", "--database-url="+url, "--world=replay")
	if head, row, _ := strings.Cut(out, "\n"); strings.Index(head, "REASON") != strings.Index(row, "because") || !strings.Contains(head, "REASON") {
		t.Errorf("the reason is not in its column:\n%s", out)
	}
}

func TestEveryListIsAlsoJSON(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	at := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	if _, err := db.EnsureWorld(t.Context(), "replay", &at); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"runs", "alerts", "schedule list", "schedule next", "signals list", "quarantine list", "backfill list", "picks list", "portfolio events", "keys list",
		"payments list", "payments list --ledger", "payments claims list", "actions",
	} {
		code, out := told(t, append(strings.Fields(words), "--json", "--database-url="+url, "--world=replay")...)
		var list []map[string]any
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || list == nil {
			t.Errorf("%s --json: exit %d, %v:\n%s", words, code, err, out)
		}
	}
	_, out := told(t, "signals", "list", "--json", "--database-url="+url, "--world=replay")
	if !strings.Contains(out, `"signal": "crack-spread-321"`) || !strings.Contains(out, `"since": null`) {
		t.Errorf("the signals as JSON:\n%s", out)
	}
}

// acting lists the commands that change or run something, or whose exit status is the result. Every other command prints data and must
// support --json.
const acting = `up scheduler worker api monitor queue backup.make backup.verify restore health schedule.run schedule.pause schedule.resume signals.deprecate signals.restore
	backfill.plan backfill.apply backfill.run backfill.pause backfill.resume backfill.cancel backfill.retry-failed quarantine.accept quarantine.reject reparse
	archive.import archive.export archive.begin publish picks.publish picks.withdraw picks.correct portfolio.rebuild ledger.verify chain.setup chain.retry verify keys.revoke keys.credit
	keys.grant keys.move log.key log.export log.settle witness.init witness.add witness.serve payments.reconcile payments.resolve sandbox.fault sandbox.clear simulate completion help version complete-words`

func TestEveryCommandThatListsOrShowsHasJSON(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, commandVars(), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		words := strings.Fields(strings.TrimPrefix(leaf.Path(), parser.Model.Name))
		name := strings.Join(words, ".")
		seen[name] = true
		asked := slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == "json" })
		if !asked && !slices.Contains(strings.Fields(acting), name) {
			t.Errorf("tidemark %s prints what there is, and has no --json", strings.Join(words, " "))
		}
		// tidemark picks means tidemark picks list, with its flags.
		if parent := leaf.Parent; asked && parent.DefaultCmd == leaf {
			if _, err := parser.Parse(append(words[:len(words)-1:len(words)-1], "--json")); err != nil {
				t.Errorf("tidemark %s --json: %v", strings.Join(words[:len(words)-1], " "), err)
			}
		}
	}
	for name := range strings.FieldsSeq(acting) {
		if !seen[name] {
			t.Errorf("there is no command %s", name)
		}
	}
}

func TestWhatIsShownIsAlsoJSON(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	at := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	if _, err := db.EnsureWorld(t.Context(), "replay", &at); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `insert into keys (public_id, name, created_at) values ('key_' || repeat('a', 26), 'k', now())`); err != nil {
		t.Fatal(err)
	}
	fetch, err := db.RecordFetch(t.Context(), series.Fetch{
		Source: "test", URL: "https://upstream.example/", Status: 200, FetchedAt: at, SHA256: strings.Repeat("a", 64), Bytes: 1,
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Quarantine(t.Context(), task.Fence{}, postgres.Quarantined{
		Source: "test", Digest: strings.Repeat("d", 64), CreatedAt: at, Findings: []series.Finding{{Check: "range", Severity: "error"}},
	}, []int64{fetch}); err != nil {
		t.Fatal(err)
	}
	if code, out := told(t, "quarantine", "reject", "1", "--reason=r", "--by=ann", "--database-url="+url, "--world=replay"); code != 0 {
		t.Fatal(out)
	}
	if code, out := told(t, "backfill", "plan", "--signal=crack-spread-321", "--from=2026-03-02", "--to=2026-03-03", "--database-url="+url, "--world=replay"); code != 0 {
		t.Fatal(out)
	}
	for words, want := range map[string][]string{
		"quarantine show 1":                        {`"decision": "rejected"`, `"by": "ann"`, `"check": "range"`, `"url": "https://upstream.example/"`},
		"backfill show 1 --slots":                  {`"signal": "crack-spread-321"`, `"slots": 2`, `"slot": "2026-03-0`, `"result": null`},
		"keys show key_" + strings.Repeat("a", 26): {`"balance": "0`, `"ledger": []`, `"pro_until": null`},
		"ledger status":                            {`"entries": 0`, `"status": null`},
		"chain status":                             {`"announced": 0`, `"note": "BASE_RPC_URL is not set`, `"node": null`},
		"doctor":                                   {`"name": "settings"`, `"outcome": "ok"`},
	} {
		_, out := told(t, append(strings.Fields(words), "--json", "--database-url="+url, "--world=replay", "--state-dir="+t.TempDir())...)
		body, _, _ := strings.Cut(out, "\ntidemark: ") // the last line of doctor reports failed checks
		var any any
		if err := json.Unmarshal([]byte(body), &any); err != nil {
			t.Errorf("%s --json: %v:\n%s", words, err, out)
		}
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s --json lacks %s:\n%s", words, w, out)
			}
		}
	}
}

func TestNoFormOfAProgrammingLanguageIsShownToAPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"backfill", "plan", "--signal=crack-spread-321", "--from=yesterday", "--to=2026-01-01"}, `--from: "yesterday" is not a date such as 2026-11-20`},
		{[]string{"explain", "crack-spread-321", "--as-of=now"}, `--as-of: "now" is not a time such as 2026-11-20T18:00:00Z`},
		{[]string{"backfill", "plan", "--signal=crack-spread-321", "--from=2026-13-01", "--to=2026-01-01"}, `--from: "2026-13-01" does not exist: its month is out of range`},
		{[]string{"sandbox", "fault", "fred-cpi", "late", "--for", "5", "--world=sandbox"}, `--for: "5" is not a duration such as 90s, 30m or 48h`},
		{[]string{"sandbox", "clear", "fred-cpy", "--world=sandbox"}, `"fred-cpy" is not known; did you mean fred-cpi?`},
		{[]string{"runs", "--limit=many"}, `--limit: "many" is not a whole number`},
		{[]string{"runs", "show", "abc"}, `"abc" is not a whole number`},
		{[]string{"backup", "--keep=0", "/nowhere/backups"}, "--keep=0 keeps no backup: 1 or more"},
		{[]string{"backup", "--keep=-1", "/nowhere/backups"}, "--keep=-1 keeps no backup: 1 or more"},
		{[]string{"runs", "--database-url=postgres://127.0.0.1:1/x", "--database-worker-url=postgres://127.0.0.1:2/x"}, "DATABASE_WORKER_URL: "},
		{[]string{"runs", "--database-worker-url=postgres://127.0.0.1:port/x"}, "DATABASE_WORKER_URL: "},
		{[]string{"explain", "crack-spraed-321"}, `unknown signal "crack-spraed-321"; did you mean crack-spread-321?`},
		{[]string{"reparse", "--source=eia-petroleum-spots", "--database-url=postgres://127.0.0.1:1/x"}, "127.0.0.1"},
	} {
		code, out := told(t, c.args...)
		if code == 0 || !strings.Contains(out, c.says) || strings.Contains(out, "2006") || strings.Contains(out, "64 bit") || strings.Contains(out, "parsing time") {
			t.Errorf("%v: exit %d: %s, want %q", c.args, code, out, c.says)
		}
	}
}
