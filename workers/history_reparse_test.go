package workers_test

import (
	"strings"
	"testing"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/workers"
)

// A reparse with a mended parser is a step of the history. Repeated from the archive, it confirms nothing either.
func TestARebuiltReparseConfirmsNothing(t *testing.T) {
	t.Parallel()
	src := pageSource()
	d := newClaimService(t, src)
	d.publish("/a.csv", prices(40, 70)...)
	d.publish("/b.csv", prices(40, 2)...)
	if _, err := d.run(); err != nil {
		t.Fatal(err)
	}
	first := installation{t: t, url: d.url, db: d.db, store: d.ingest.Engine.Archive.(*archive.Store)}
	before := first.sum(kept["watermarks"])
	parse, mended := src.Parse, src
	mended.Parse = func(r ingest.Response) (ingest.Batch, error) {
		b, err := parse(r)
		for i := range b.Readings {
			b.Readings[i].Value *= 1.5
		}
		return b, err
	}
	if done, err := backfill.Reparse(t.Context(), first.db, first.store, mended, d.clock.Now().AddDate(0, 1, 0)); err != nil || done.Added == 0 {
		t.Fatalf("reparse: %+v (%v)", done, err)
	}
	if after := first.sum(kept["watermarks"]); after != before || strings.HasPrefix(after, "0 ") {
		t.Errorf("a reparse changes what the publisher confirmed: %s, before %s", after, before)
	}
	second := newInstallation(t)
	if done, err := second.take(t.Context(), first.export()); err != nil || done.Steps < 2 {
		t.Fatalf("import: %+v (%v)", done, err)
	}
	if _, err := second.history(workers.Signals{}, mended).Rebuild(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if after := second.sum(kept["watermarks"]); after != before {
		t.Errorf("a repeated reparse changes what the publisher confirmed: %s, before %s", after, before)
	}
}
