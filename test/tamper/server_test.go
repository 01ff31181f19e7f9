package tamper_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/api"
	"tidemark/api/mcp"
	"tidemark/api/view"
	"tidemark/chain/base"
	"tidemark/chain/gitledger"
	"tidemark/internal/calendar"
	"tidemark/internal/devchain"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// A record consists of trading days, the tenth of them without a pick, and one of its picks was corrected. days is the length of a long
// record: 300 picks.
const days = 301

// first is its first day.
var first = time.Date(2025, time.January, 2, 0, 0, 0, 0, time.UTC)

// fill makes the record as the program's own functions do, day by day and by the world's clock, in one transaction.
const fill = `
do $$
declare
	day text;
	n int := 0;
begin
	foreach day in array string_to_array('%s', ',') loop
		n := n + 1;
		update world set clock_at = (day || ' 17:30')::timestamp at time zone 'America/New_York';
		if n = 10 then
			insert into gaps (date, reason) values (day, 'no price by the cutoff');
			continue;
		end if;
		perform append_pick((array['AAPL','MSFT','BRK.B','F','NVDA','GOOG'])[n %% 6 + 1], to_char(100 + n * 1.37, 'FM9990.00'), day, 320193, 'A', 'XNAS',
			'Energy', 'Europe', 'US', 'USD', 'method', 'r', null);
		update world set clock_at = (day || ' 18:00')::timestamp at time zone 'America/New_York';
		insert into announcements (seq) select max(seq) from picks;
	end loop;
	insert into corrections (seq, what, evidence, date, by) values (7, 'the close was 110.00', 'https://example.org/7', day, 'operator');
end
$$`

// server is a real server with the record behind it.
type server struct {
	url, dsn string
	record   *view.Record
	// now is an instant after its last day.
	now time.Time
}

// start serves a fresh record of so many days from the first one. The whole chain is read again as often as fullPass says.
func start(t *testing.T, days int, fullPass time.Duration) (*server, *pgx.Conn) {
	t.Helper()
	return startAt(t, first, days, calendar.At(calendar.Add(first, days-1), 19*time.Hour), fullPass)
}

// startAt is start from another day on, at an instant after the last day.
func startAt(t *testing.T, first time.Time, days int, now time.Time, fullPass time.Duration) (*server, *pgx.Conn) {
	t.Helper()
	dsn := pgtest.New(t)
	var dates []string
	for i, day := 0, first; i < days; i, day = i+1, calendar.Next(day) {
		dates = append(dates, day.Format(time.DateOnly))
	}
	root, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close(context.Background()) })
	begin := calendar.At(first, 9*time.Hour)
	if _, err := root.Exec(t.Context(), `insert into world (name, clock_at) values ('replay', $1)`, begin); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Exec(t.Context(), fmt.Sprintf(fill, strings.Join(dates, ","))); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), dsn, postgres.RoleAPI)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: "http://" + ln.Addr().String(), dsn: dsn, now: now}
	log, clock := slog.New(slog.DiscardHandler), func() time.Time { return s.now }
	v, err := view.New(view.Options{Store: db, PublicURL: s.url, World: view.WorldReplay, Now: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	s.record, err = view.NewRecord(view.RecordOptions{Store: db, PublicURL: s.url, World: view.WorldReplay, Now: clock, Clock: time.Now, FullPass: fullPass, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	agents, err := mcp.New(mcp.Options{View: v, Record: s.record, PublicURL: s.url, Version: "1", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	published, err := view.NewPublications(view.PublicationsOptions{Store: db, PublicURL: s.url, World: view.WorldReplay, Now: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	door := api.New(api.Options{View: v, Record: s.record, Publications: published, TransparencyLog: db, Agents: &api.AgentOptions{Handler: agents}, Log: log})
	for _, run := range []func(context.Context) error{v.Run, s.record.Run, published.Run, func(ctx context.Context) error { return door.Serve(ctx, ln) }} {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "the first load", func() bool { return s.record.State() != nil && published.State() != nil })
	return s, root
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

func (s *server) get(t *testing.T, path string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
	return body
}

// testify lets the jobs of both witnesses run, with a ledger in a folder and a development chain.
func (s *server) testify(t *testing.T) {
	t.Helper()
	db, err := postgres.Open(t.Context(), s.dsn, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	dir := filepath.Join(t.TempDir(), "ledger.git")
	ledger := workers.Ledger{DB: db, Repository: dir, Branch: "main", Open: func(ctx context.Context) (*gitledger.Ledger, error) {
		return gitledger.Open(ctx, gitledger.Options{
			Dir: dir, Environment: "demo", Author: gitledger.Identity{Name: "Ledger", Email: "ledger@example.org"}, Environ: os.Environ(),
		})
	}}
	l2, err := devchain.Start(devchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l2.Close() })
	client, err := base.Dial(devchain.DefaultChainID, l2.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	signer := base.NewSigner(devchain.Key(0))
	attest := workers.Attest{
		DB: db, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Attester: &base.Attester{
			Client: client, Signer: signer, EAS: base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress},
		},
		State: postgres.AttesterState{
			Attester: postgres.Attester{
				ChainID: devchain.DefaultChainID, Contract: strings.ToLower(devchain.EASAddress.Hex()), SchemaUID: base.SchemaUID(base.Schema).Hex(),
				Attester: strings.ToLower(signer.Address().Hex()),
			},
			RPCURL: l2.URL(), Status: postgres.AttesterOff,
		},
	}
	if err := ledger.Run(t.Context(), task.Task{Job: task.Ledger, Subject: task.SubjectLedger}); err != nil {
		t.Fatal(err)
	}
	// An attestation that is not final yet asks to be looked at later.
	if err := attest.Run(t.Context(), task.Task{Job: task.Attest, Subject: task.SubjectAttest}); err != nil {
		t.Logf("the attestation: %v", err)
	}
}
