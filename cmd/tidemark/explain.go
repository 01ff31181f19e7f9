package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
	"tidemark/workers"
)

type explainCommand struct {
	config.Stored
	config.Archive
	format

	ID   string    `arg:"" help:"The signal."`
	URL  string    `help:"Examine a server from outside: download the bytes, hash and parse them, compute the number again, and compare." placeholder:"URL"`
	Date string    `help:"With --url: the day that the number is about. Default: the newest." placeholder:"YYYY-MM-DD"`
	AsOf time.Time `format:"2006-01-02T15:04:05Z07:00" help:"The instant (RFC 3339) at which it was served. Default: the world's time."`
}

// explanation holds all data behind a snapshot.
type explanation struct {
	def      signals.Definition
	snapshot postgres.Snapshot
	points   []postgres.Point
	newest   []postgres.KnownObservation
	sources  []postgres.Source
	fetches  []series.Fetch
	// archived describes for each fetch the state of its bytes in the archive. broken is true if some bytes are missing or changed.
	archived []string
	broken   bool
	// differs lists the differences between the stored snapshot and track and the recomputed ones.
	differs []string
}

// Run prints the chain from a served number to the archived bytes, and computes the number again from the stored observations. It fails if bytes
// are missing or changed, or if the number differs. With a URL it does so with the data that a server publishes, and parses the bytes.
func (c explainCommand) Run(ctx context.Context, p *program) error {
	def, err := p.definition(c.ID)
	if err != nil {
		return err
	}
	if c.URL != "" {
		return c.fromOutside(ctx, p, def)
	}
	if c.Date != "" {
		return usageError{errors.New("--date goes with --url; --as-of names an instant")}
	}
	db, store, err := p.openRecord(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer func() { _ = store.Close() }()
	at := c.AsOf.UTC()
	if c.AsOf.IsZero() {
		if at, err = p.worldTime(ctx, db); err != nil {
			return err
		}
	}
	e, err := explain(ctx, db, store, def, at)
	if errors.Is(err, postgres.ErrNotFound) {
		return fmt.Errorf("nothing was known of %s at %s", c.ID, at.Format(time.RFC3339))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = writeJSON(p.stdout, e.json())
	} else {
		err = e.print(p.stdout)
	}
	if err != nil {
		return err
	}
	switch {
	case e.broken:
		return errors.New("the archive lacks some of the bytes that this value rests on")
	case len(e.differs) > 0:
		return errors.New("the recomputed value differs from the stored one")
	}
	return nil
}

func explain(ctx context.Context, db *postgres.DB, store *archive.Store, def signals.Definition, at time.Time) (*explanation, error) {
	e := &explanation{def: def}
	var err error
	if e.snapshot, err = db.SnapshotAsOf(ctx, def.ID, at); err != nil {
		return nil, err
	}
	at = e.snapshot.At.UTC()
	for pt, err := range db.History(ctx, postgres.HistoryQuery{Signal: def.ID, AsOf: at}) {
		if err != nil {
			return nil, err
		}
		e.points = append(e.points, pt)
	}
	if e.snapshot.ObservedAt != nil {
		if e.newest, err = db.NewestKnown(ctx, def.Inputs, at, *e.snapshot.ObservedAt, 3); err != nil {
			return nil, err
		}
	}
	if e.sources, err = db.SourcesAsOf(ctx, def.Inputs, at); err != nil {
		return nil, err
	}
	var ids []int64
	for _, s := range e.sources {
		ids = append(ids, s.FetchID)
	}
	if e.fetches, err = db.FetchesByID(ctx, ids); err != nil {
		return nil, err
	}
	for _, f := range e.fetches {
		body, err := store.Get(ctx, f.SHA256)
		sum := sha256.Sum256(body)
		switch {
		case err != nil:
			e.archived, e.broken = append(e.archived, "BROKEN: "+err.Error()), true
		case hex.EncodeToString(sum[:]) != f.SHA256:
			e.archived, e.broken = append(e.archived, "BROKEN: the bytes have another SHA-256"), true
		default:
			e.archived = append(e.archived, fmt.Sprintf("blobs/%s/%s[.gz], %d bytes, SHA-256 verified", f.SHA256[:2], f.SHA256, len(body)))
		}
	}
	again, track, err := workers.Signals{DB: db}.Compute(ctx, def, at) // no version: no backtest is taken from a stored snapshot
	if err != nil {
		return nil, err
	}
	e.differs = append(differences(e.snapshot, again), trackDifferences(e.points, track.Track())...)
	return e, nil
}

// differences returns what a snapshot has otherwise than another one, numbers bit for bit. It does not compare who computed it and when.
func differences(was, again postgres.Snapshot) []string {
	var out []string
	for _, n := range []struct {
		name       string
		was, again *float64
	}{
		{"value", was.Value, again.Value},
		{"lo", was.Lo, again.Lo},
		{"hi", was.Hi, again.Hi},
		{"baseline", was.Baseline, again.Baseline},
		{"scale", was.Scale, again.Scale},
		{"z-score", was.Z, again.Z},
		{"difference", was.DeltaPct, again.DeltaPct},
	} {
		if !sameBits(n.was, n.again) {
			out = append(out, fmt.Sprintf("%s was %s, is %s", n.name, decimal(n.was), decimal(n.again)))
		}
	}
	for _, t := range []struct {
		name       string
		was, again *time.Time
	}{{"observed", was.ObservedAt, again.ObservedAt}, {"known", was.KnownAt, again.KnownAt}, {"the first point", was.CoversFrom, again.CoversFrom}} {
		if instantOf(t.was) != instantOf(t.again) {
			out = append(out, fmt.Sprintf("%s was %s, is %s", t.name, instantOf(t.was), instantOf(t.again)))
		}
	}
	if was.N != again.N {
		out = append(out, fmt.Sprintf("the baseline was of %d values, is of %d", was.N, again.N))
	}
	if was.Status != again.Status {
		out = append(out, fmt.Sprintf("status was %s, is %s", was.Status, again.Status))
	}
	if was.Synthetic != again.Synthetic {
		out = append(out, fmt.Sprintf("synthetic was %t, is %t", was.Synthetic, again.Synthetic))
	}
	for _, part := range []struct {
		name       string
		was, again any
	}{{"record of the interval", was.Uncertainty, again.Uncertainty}, {"backtest", was.Backtest, sameTests(again.Backtest, was.Backtest)}} {
		if at := cmp.Or(differsBy(part.again, part.was, lastDigit), differsBy(part.was, part.again, lastDigit)); at != "" {
			out = append(out, part.name+": "+at)
		}
	}
	if len(was.Components) != len(again.Components) {
		return append(out, fmt.Sprintf("there were %d components, there are %d", len(was.Components), len(again.Components)))
	}
	for i, c := range was.Components {
		a := again.Components[i]
		if c.Name != a.Name || c.Label != a.Label || c.Unit != a.Unit || !sameBits(c.Value, a.Value) || !sameBits(c.Baseline, a.Baseline) ||
			!sameBits(c.DeltaPct, a.DeltaPct) || !sameBits(c.Z, a.Z) || instantOf(c.ObservedAt) != instantOf(a.ObservedAt) {
			out = append(out, "component "+c.Name)
		}
	}
	return out
}

// sameTests is a backtest that allows for as many tests as another one, and has its program's version. A later program is one more version of
// the method. Either may be nil.
func sameTests(b, as *postgres.Backtest) *postgres.Backtest {
	if b == nil || as == nil {
		return b
	}
	out := *b
	out.CodeVersion, out.Trials.Trials = as.CodeVersion, as.Trials.Trials
	return new(out.Concluded())
}

// trackDifferences counts the points of the stored history that are not bit for bit equal to a track's.
func trackDifferences(points []postgres.Point, track signals.Track) []string {
	if len(points) != len(track) {
		return []string{fmt.Sprintf("the history had %d points, has %d", len(points), len(track))}
	}
	n := 0
	for i, p := range points {
		e := track[i]
		was := []float64{p.Value, p.Lo, p.Hi, p.Baseline, p.DeltaPct, p.Z}
		is := []float64{e.Value, e.Lo, e.Hi, e.Baseline, e.DeltaPct(), e.Z()}
		same := slices.EqualFunc(was, is, func(a, b float64) bool {
			if math.IsNaN(a) || math.IsNaN(b) {
				return math.IsNaN(a) && math.IsNaN(b)
			}
			return sameBits(&a, postgres.Known(b))
		})
		if !same || !p.ObservedAt.Equal(e.ObservedAt.Time()) || !p.PublishedAt.Equal(e.KnownAt.Time()) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d points of the history", n, len(points))}
}

func sameBits(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Float64bits(*a) == math.Float64bits(*b)
}

func instantOf(t *time.Time) string {
	if t == nil {
		return "unknown"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func decimal(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
