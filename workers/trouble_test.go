package workers_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/sources"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// settles counts the rows that an unchanged file of a source adds in the month of the trouble. A crop year's number of January counts as
// final from 15 March.
var settles = map[string]int64{"nass-iowa-corn": 1}

// early is the year of the trouble where the years before it would be read for long: each month of TEMIS is a text of 16.8 MB.
var early = map[string]int{"temis-no2": 2019}

// revised are the observations that were known and became others in the month of the trouble.
const revised = `select series, observed_at from observations group by 1, 2 having count(*) > 1 and max(vintage_at) > '%d-04-01'`

func TestAnUpstreamOfASandboxBehavesAsItWasTold(t *testing.T) {
	t.Parallel()
	for _, src := range sources.All(config.Upstreams{}) {
		t.Run(src.ID, func(t *testing.T) {
			t.Parallel()
			year := cmp.Or(early[src.ID], 2025)
			for _, kind := range sources.FaultsOf(src.ID) {
				i := newInstallation(t)
				clock := world.NewStepped(newYork(t, fmt.Sprintf("%d-03-04 20:00", year)))
				path := filepath.Join(t.TempDir(), "troubles.json")
				engine := &ingest.Engine{
					Transport: world.Troubled(world.TroubledOptions{
						World: synth.World{Seed: 1, Now: clock.Now}, Path: path,
						Handler: func(w synth.World) http.Handler { return sources.Sandbox(w, calendar.IsTradingDay) },
					}), Now: clock.Now, Ledger: i.db, Archive: i.store, Offline: true, Attempts: 1,
				}
				job := workers.Ingest{DB: i.db, Engine: engine, Sources: map[string]ingest.Source{src.ID: src}, Dependents: map[string][]string{}}
				run := func() (int64, error) {
					tk := claimed(t, i.db, task.Ingest, src.ID, clock.Now())
					err := job.Run(t.Context(), tk)
					if err == nil {
						err = i.db.Succeed(t.Context(), tk.Fence)
					} else if _, ferr := i.db.Fail(t.Context(), tk.Fence, err.Error(), 0, true, false); ferr != nil {
						t.Fatal(ferr)
					}
					list, lerr := i.db.Runs(t.Context(), postgres.RunFilter{ID: tk.RunID, Limit: 1})
					if lerr != nil {
						t.Fatal(lerr)
					}
					if list[0].RowsAdded == nil {
						return 0, err
					}
					return *list[0].RowsAdded, err
				}
				if _, err := run(); err != nil {
					t.Fatal(err)
				}
				clock.AdvanceTo(clock.Now().Add(time.Hour))
				if err := world.SaveTroubles(path, []world.Trouble{{Source: src.ID, Kind: kind, Since: clock.Now()}}); err != nil {
					t.Fatal(err)
				}
				clock.AdvanceTo(clock.Now().AddDate(0, 0, 36))
				n, err := run()
				held, herr := i.db.Quarantined(t.Context(), postgres.QuarantineFilter{Limit: 10})
				if herr != nil {
					t.Fatal(herr)
				}
				changed, none := i.sum(fmt.Sprintf(revised, year)), "0 "
				said := fmt.Sprintf("%s: %d rows, %d held, changed %s: %v", kind, n, len(held), changed, err)
				switch kind {
				case world.Late:
					if err != nil || n != settles[src.ID] || len(held) != 0 {
						t.Error(said)
					}
				case world.Revised:
					if err != nil || n == 0 || len(held) != 0 || changed == none {
						t.Error(said)
					}
				case world.Malformed, world.Unavailable:
					if err == nil || n != 0 || len(held) != 0 || errors.Is(err, ingest.Temporary) != (kind == world.Unavailable) {
						t.Error(said)
					}
				case world.Shrunk:
					if err == nil || n != 0 || len(held) == 0 || held[0].Findings[0].Check != "row_count" {
						t.Error(said)
					}
				}
				if err := world.SaveTroubles(path, nil); err != nil {
					t.Fatal(err)
				}
				clock.AdvanceTo(clock.Now().Add(time.Hour))
				if n, err := run(); err != nil || n == 0 && kind != world.Revised && src.ID != "nass-iowa-corn" {
					t.Errorf("%s, when it is over: %d rows, %v", kind, n, err)
				}
			}
		})
	}
}
