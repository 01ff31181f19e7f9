package view

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/postgres"
)

const (
	// queryTimeout bounds one read of the database while a client waits. With QueueWait it is shorter than a client waits for a response.
	queryTimeout = 8 * time.Second
	// maxQueries is how many reads there are at the same time. Others wait. The notifications that keep the memory current need connections,
	// too. maxWaitingQueries is how many reads of a client wait: a page, an agent and a notebook ask for several things at once.
	maxQueries, maxWaitingQueries = 2, 32
	// pageRows is how many points a response holds in memory while its client reads: 2.6 MB. Each page costs a statement of some milliseconds.
	pageRows = 16384
)

// queryLimits bound the reads of the database. Each client may have all slots if nobody else waits.
var queryLimits = QueueLimits{Slots: maxQueries, SlotsOfClient: maxQueries, Waiting: maxWaitingQueries, Wait: QueueWait}

// acquireQuery waits for a slot, then runs f, which reads the database. f must not write to a client: a client that does not read would
// hold the slot.
func (v *View) acquireQuery(ctx context.Context, f func(context.Context) error) error {
	leave, err := v.queries.Enter(ctx, ClientOf(ctx))
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return f(ctx)
}

// stored yields points from the database. It is for readers that only collect points: they hold a slot meanwhile.
func (v *View) stored(ctx context.Context, q postgres.HistoryQuery) iter.Seq2[postgres.Point, error] {
	enough := errors.New("enough")
	return func(yield func(postgres.Point, error) bool) {
		err := v.acquireQuery(ctx, func(ctx context.Context) error {
			for p, err := range v.o.Store.History(ctx, q) {
				if err != nil {
					return err
				}
				if !yield(p, nil) {
					return enough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			yield(postgres.Point{}, err)
		}
	}
}

// batchRows is how many points go from the reader of the database to the writer of a response at once.
const batchRows = 256

// pages holds unused memory for the points of a response.
var pages = sync.Pool{New: func() any { return new([pageRows]postgres.Point) }}

// storedPages is stored for responses to clients. It reads pages of points, and while a client does not take a point it holds neither a slot
// nor a connection. A page is read while its first points are written. With q.Version all pages are of one state.
func (v *View) storedPages(ctx context.Context, q postgres.HistoryQuery) iter.Seq2[postgres.Point, error] {
	return func(yield func(postgres.Point, error) bool) {
		page := pages.Get().(*[pageRows]postgres.Point)
		defer pages.Put(page)
		read, free := make(chan []postgres.Point, pageRows/batchRows), make(chan []postgres.Point, pageRows/batchRows)
		for batch := range slices.Chunk(page[:], batchRows) {
			free <- batch[:0]
		}
		ctx, stop := context.WithCancel(ctx)
		var reader errgroup.Group
		reader.Go(func() error {
			defer close(read)
			return v.readPages(ctx, q, free, read)
		})
		for batch := range read {
			for _, p := range batch {
				if !yield(p, nil) {
					stop()
					_ = reader.Wait() // the memory is its until then
					return
				}
			}
			free <- batch[:0]
		}
		err := reader.Wait()
		stop()
		if err != nil {
			yield(postgres.Point{}, err)
		}
	}
}

// readPages reads points in batches of free, and passes these on to read. It begins a page when all batches are free, so that it never waits
// for the client while it reads.
func (v *View) readPages(ctx context.Context, q postgres.HistoryQuery, free <-chan []postgres.Point, read chan<- []postgres.Point) (err error) {
	defer func() {
		if p := recover(); p != nil { // another goroutine than the handler's would end the program
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	most := q.Limit
	batches := make([][]postgres.Point, 0, cap(free))
	for sent := 0; ; {
		for len(batches) < cap(free) {
			select {
			case batch := <-free:
				batches = append(batches, batch)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		q.Limit = pageRows
		if most > 0 {
			q.Limit = min(pageRows, most-sent)
		}
		n := 0
		var last postgres.HistoryKey
		for p, err := range v.stored(ctx, q) {
			if err != nil {
				return err
			}
			n, last = n+1, postgres.HistoryKey{ObservedAt: p.ObservedAt, KnownFrom: p.KnownFrom}
			if batches[0] = append(batches[0], p); len(batches[0]) == batchRows {
				read <- batches[0]
				batches = batches[1:]
			}
		}
		if len(batches) > 0 && len(batches[0]) > 0 {
			read <- batches[0]
			batches = batches[1:]
		}
		if sent += n; n < q.Limit || sent == most {
			return nil
		}
		q.After = &last
	}
}

// AsOf returns the snapshot of a signal as of a past instant. The error is postgres.ErrNotFound if there was no snapshot, and
// postgres.ErrUnavailable if the database is unavailable.
func (v *View) AsOf(ctx context.Context, s *Signal, at time.Time) (*Document, error) {
	snapshot, err := v.SnapshotAsOf(ctx, s, at)
	if err != nil {
		return nil, err
	}
	if snapshot == nil {
		return nil, postgres.ErrNotFound
	}
	body, err := Encode(snapshot)
	if err != nil {
		return nil, err
	}
	var known time.Time
	if snapshot.IngestedAt != nil {
		known = *snapshot.IngestedAt
	}
	return NewDocument(TypeJSON, CachePublic, body, known), nil
}

// Vintages lists the instants at which a signal's history became another one.
type Vintages struct {
	ID          string     `json:"id"`
	AsOf        *time.Time `json:"as_of"`
	Data        []Vintage  `json:"data"`
	Pagination  Pagination `json:"pagination"`
	License     string     `json:"license"`
	SourceURL   string     `json:"source_url"`
	Synthetic   bool       `json:"synthetic"`
	Environment string     `json:"environment"`
	Disclaimer  string     `json:"disclaimer"`
}

// Vintage is one of them: how many points were added, got another value, and were withdrawn.
type Vintage struct {
	KnownAt   time.Time `json:"known_at"`
	Added     int       `json:"added"`
	Revised   int       `json:"revised"`
	Withdrawn int       `json:"withdrawn"`
}

// VintagesRequest selects a page of Limit vintages, newest first unless Asc is set.
type VintagesRequest struct {
	// From and To bound KnownAt, both inclusive. Zero means no bound.
	From, To time.Time
	Asc      bool
	Limit    int
	// After is the end of the previous page, zero for the first page.
	After time.Time
}

// Vintages returns a page of the list, and the cursor of the next page, empty if this is the last page.
func (v *View) Vintages(ctx context.Context, s *Signal, r VintagesRequest) (doc *Document, next string, err error) {
	out := Vintages{
		ID: s.Definition.ID, AsOf: s.Snapshot.AsOf, Data: []Vintage{}, Pagination: Pagination{Limit: &r.Limit}, License: s.Snapshot.License,
		SourceURL: s.Snapshot.SourceURL, Synthetic: s.Snapshot.Synthetic, Environment: s.Snapshot.Environment, Disclaimer: s.Snapshot.Disclaimer,
	}
	var changes []postgres.Change
	if out.AsOf != nil {
		q := postgres.HistoryQuery{Signal: out.ID, AsOf: *out.AsOf, From: r.From, To: r.To, Desc: !r.Asc, Limit: r.Limit + 1}
		if !r.After.IsZero() {
			q.After = &postgres.HistoryKey{KnownFrom: r.After}
		}
		err = v.acquireQuery(ctx, func(ctx context.Context) error {
			changes, err = v.o.Store.Changes(ctx, q)
			return err
		})
		if err != nil {
			return nil, "", err
		}
	}
	if len(changes) > r.Limit {
		changes = changes[:r.Limit]
		next = encodeCursor(r.order(), changes[r.Limit-1].KnownAt.UnixMicro())
		out.Pagination.NextCursor, out.Pagination.HasMore = &next, true
	}
	for _, c := range changes {
		out.Data = append(out.Data, Vintage{KnownAt: c.KnownAt.UTC(), Added: c.Added, Revised: c.Changed, Withdrawn: c.Gone})
	}
	body, err := Encode(out)
	if err != nil {
		return nil, "", err
	}
	return NewDocument(TypeJSON, CachePublic, body, time.Time{}), next, nil
}

// ReadCursor sets After from the cursor of the previous page. The cursor must come from a list in the same order.
func (r *VintagesRequest) ReadCursor(cursor string) error {
	at, err := decodeCursor(cursor, r.order(), 1)
	if err != nil {
		return err
	}
	r.After = time.UnixMicro(at[0]).UTC()
	return nil
}

func (r VintagesRequest) order() string { return fmt.Sprintf("vintages-%t", r.Asc) }
