package view

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"tidemark/internal/columns"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// ListingRequest selects a part of a signal's history and its format.
type ListingRequest struct {
	// Format is one of Formats.
	Format string
	// AsOf is the instant of the history. Zero means now.
	AsOf time.Time
	// From and To bound the observation times, both inclusive. Zero means no bound.
	From, To time.Time
	// Desc sorts newest first.
	Desc bool
	// Versions lists every version of every point, not only the current ones.
	Versions bool
	// Limit is the size of a page. 0 means no limit.
	Limit int
	// After is the end of the previous page.
	After *postgres.HistoryKey

	// first is when the last of the signal's inputs was first loaded.
	first time.Time
}

// Listing is a response that is written row by row.
type Listing struct {
	MediaType string
	// ETag is the strong tag of the uncompressed form, without its quotes.
	ETag string
	// Modified is when the newest of it became known, or zero if that is not looked up.
	Modified time.Time
	// Next is the cursor of the next page, empty on the last page.
	Next string

	request ListingRequest
	// query selects the rows, and says what is written about each.
	query postgres.HistoryQuery
	// first and last are the bytes before and after the rows.
	first, last []byte
	rows        rows
	// about are texts about the whole listing, for formats with types.
	about []columns.Pair
}

// rows yields points. After an error it yields nothing more.
type rows func(ctx context.Context) iter.Seq2[postgres.Point, error]

// Pagination tells where a page stands.
type Pagination struct {
	// Limit is null where all there is was asked for.
	Limit      *int    `json:"limit"`
	NextCursor *string `json:"next_cursor"`
	HasMore    bool    `json:"has_more"`
}

// Meta is the metadata of a response.
type Meta struct {
	Warnings []string `json:"warnings"`
}

// listingHead and listingTail are the members before and after the data.
type listingHead struct {
	ID               string     `json:"id"`
	Name             string     `json:"name"`
	Unit             string     `json:"unit"`
	Frequency        string     `json:"frequency"`
	AsOf             *time.Time `json:"as_of"`
	UncertaintyLevel float64    `json:"uncertainty_level"`
	// UncertaintyBounds and UncertaintyBasis are uncertainty.bounds and uncertainty.basis of the snapshot for the instant of the list. Where
	// the basis is assumed, the level is no probability.
	UncertaintyBounds string `json:"uncertainty_bounds"`
	UncertaintyBasis  string `json:"uncertainty_basis"`
	BaselineMethod    string `json:"baseline_method"`
}

type listingTail struct {
	Pagination  Pagination `json:"pagination"`
	License     string     `json:"license"`
	SourceURL   string     `json:"source_url"`
	Synthetic   bool       `json:"synthetic"`
	Environment string     `json:"environment"`
	Disclaimer  string     `json:"disclaimer"`
	Meta        Meta       `json:"meta"`
}

// History returns a part of a signal's history. The current history comes from memory. Past states, and all versions, come from the
// database. If the database is unavailable, the error is postgres.ErrUnavailable, here or before Write has written anything.
func (v *View) History(ctx context.Context, s *Signal, r ListingRequest) (*Listing, error) {
	asOf := s.Snapshot.AsOf
	if !r.AsOf.IsZero() {
		asOf = &r.AsOf
	}
	r.first = s.Snapshot.firstIngested
	q := r.query(s.Definition.ID, asOf)
	q.Interval = postgres.Interval{Bounds: s.Snapshot.Uncertainty.Bounds, Basis: s.Snapshot.Uncertainty.Basis}
	l := &Listing{MediaType: formatTypes[r.Format], request: r}
	state := "nothing"
	switch {
	case r.AsOf.IsZero() && !r.Versions:
		l.rows = func(context.Context) iter.Seq2[postgres.Point, error] { return s.History.points(q) }
		digest := s.History.digest()
		state = hex.EncodeToString(digest[:])
		if s.Snapshot.IngestedAt != nil {
			l.Modified = *s.Snapshot.IngestedAt
		}
	case asOf == nil:
		l.rows = only(nil)
	default:
		l.rows = func(ctx context.Context) iter.Seq2[postgres.Point, error] { return v.storedPages(ctx, q) }
		err := v.acquireQuery(ctx, func(ctx context.Context) error {
			q.Interval = postgres.IntervalOf(s.Definition, nil)
			at, last, version, err := v.o.Store.Computed(ctx, q.Signal, q.AsOf)
			q.Version = version // the rows are those that the tag is about
			if state = fmt.Sprint(at, last); err != nil {
				return err
			}
			snapshot, err := v.o.Store.SnapshotAsOf(ctx, q.Signal, q.AsOf)
			q.Interval = postgres.IntervalOf(s.Definition, snapshot.Uncertainty)
			return err
		})
		if err != nil && !errors.Is(err, postgres.ErrNotFound) {
			return nil, err
		}
	}
	l.query = q
	if err := l.frame(ctx, s, asOf); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Append(nil, r.part(), "\n", state, "\n", string(l.first), string(l.last), l.about, q.Interval, columns.Edition(r.Format)))
	l.ETag = hex.EncodeToString(sum[:16])
	return l, nil
}

// query selects the rows of the response and one more, which shows whether there is another page.
func (r ListingRequest) query(signal string, asOf *time.Time) postgres.HistoryQuery {
	q := postgres.HistoryQuery{
		Signal: signal, From: r.From, To: r.To, Versions: r.Versions, Desc: r.Desc, After: r.After, FirstIngested: r.first,
	}
	if asOf != nil {
		q.AsOf = *asOf
	}
	if r.Limit > 0 {
		q.Limit = r.Limit + 1
	}
	return q
}

// part names the selected part of a history.
func (r ListingRequest) part() string {
	after := ""
	if r.After != nil {
		after = r.cursor(*r.After)
	}
	return fmt.Sprint(r.Format, r.first.UnixMicro(), r.From.UnixMicro(), r.To.UnixMicro(), r.Desc, r.Versions, r.Limit, after)
}

// frame builds the bytes before and after the rows. It reads the rows of a page now: a page is small, and the bytes around the rows contain
// the cursor of the next page.
func (l *Listing) frame(ctx context.Context, s *Signal, asOf *time.Time) error {
	tail := listingTail{
		License: s.Snapshot.License, SourceURL: s.Snapshot.SourceURL, Synthetic: s.Snapshot.Synthetic, Environment: s.Snapshot.Environment,
		Disclaimer: s.Snapshot.Disclaimer, Meta: Meta{Warnings: []string{}},
	}
	if limit := l.request.Limit; limit > 0 {
		page := make([]postgres.Point, 0, limit+1)
		for p, err := range l.rows(ctx) {
			if err != nil {
				return err
			}
			page = append(page, p)
		}
		tail.Pagination.Limit = &limit
		if len(page) > limit {
			page = page[:limit]
			end := page[limit-1]
			l.Next = l.request.cursor(postgres.HistoryKey{ObservedAt: end.ObservedAt, KnownFrom: end.KnownFrom})
			tail.Pagination.NextCursor, tail.Pagination.HasMore = &l.Next, true
			tail.Meta.Warnings = append(tail.Meta.Warnings, "This is one page. There is more, from next_cursor on.")
		}
		l.rows = only(page)
	}
	switch l.request.Format {
	case FormatParquet, FormatArrow:
		l.about = append(aboutTable(tail.Environment, tail.Disclaimer), columns.Pair{Key: "id", Value: s.Definition.ID},
			columns.Pair{Key: "unit", Value: s.Snapshot.Unit}, columns.Pair{Key: "license", Value: tail.License},
			columns.Pair{Key: "source_url", Value: tail.SourceURL})
	case FormatCSV:
		l.first = []byte(csvHeader(l.request.Versions))
	case FormatJSON:
		head, err := Encode(listingHead{
			ID: s.Definition.ID, Name: s.Snapshot.Name, Unit: s.Snapshot.Unit, Frequency: s.Snapshot.Frequency, AsOf: asOf,
			UncertaintyLevel: signals.Level, UncertaintyBounds: l.query.Interval.Bounds, UncertaintyBasis: l.query.Interval.Basis,
			BaselineMethod: s.Snapshot.BaselineMethod,
		})
		if err != nil {
			return err
		}
		end, err := Encode(tail)
		if err != nil {
			return err
		}
		l.first = append(head[:len(head)-len("}\n")], `,"data":[`...)
		l.last = append([]byte("],"), end[len("{"):]...)
	}
	return nil
}

// Columnar reports whether the listing is in a format with types.
func (l *Listing) Columnar() bool { return Columnar(l.request.Format) }

// Write writes the response. With a limit above 0 it writes only the beginning and at most that many rows. A file with typed columns has no
// such beginning: the error is ErrCut if it would have more rows. Write writes nothing until it has read the first row or knows that the
// listing is empty. An error before that leaves nothing written.
func (l *Listing) Write(ctx context.Context, w io.Writer, limit int) error {
	if l.Columnar() {
		return l.writeColumns(ctx, w, limit)
	}
	row := make([]byte, 0, 1<<10)
	n := 0
	for p, err := range l.rows(ctx) {
		if err != nil {
			return err
		}
		row = row[:0]
		if n == 0 {
			row = append(row, l.first...)
		}
		switch l.request.Format {
		case FormatJSON:
			if n > 0 {
				row = append(row, ',')
			}
			row = appendPointJSON(row, p, l.query)
		case FormatNDJSON:
			row = append(appendPointJSON(row, p, l.query), '\n')
		case FormatCSV:
			row = append(appendPointCSV(row, p, l.query), "\r\n"...)
		}
		if _, err := w.Write(row); err != nil {
			return err
		}
		if n++; n == limit {
			break
		}
	}
	if n == 0 {
		if _, err := w.Write(l.first); err != nil {
			return err
		}
	}
	_, err := w.Write(l.last)
	return err
}

// only yields points that are already in memory.
func only(page []postgres.Point) rows {
	return func(context.Context) iter.Seq2[postgres.Point, error] {
		return func(yield func(postgres.Point, error) bool) {
			for p := range slices.Values(page) {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// cursor returns the end of a page. Clients treat it as opaque.
func (r ListingRequest) cursor(k postgres.HistoryKey) string {
	if !r.Versions {
		k.KnownFrom = k.ObservedAt // this order does not use it
	}
	return encodeCursor(r.order(), k.ObservedAt.UnixMicro(), k.KnownFrom.UnixMicro())
}

// ReadCursor sets After from the cursor of the previous page. The cursor must come from a listing in the same order.
func (r *ListingRequest) ReadCursor(cursor string) error {
	at, err := decodeCursor(cursor, r.order(), 2)
	if err != nil {
		return err
	}
	r.After = &postgres.HistoryKey{ObservedAt: time.UnixMicro(at[0]).UTC(), KnownFrom: time.UnixMicro(at[1]).UTC()}
	return nil
}

// order returns the name of the rows' order.
func (r ListingRequest) order() string {
	return fmt.Sprintf("history-%t-%t", r.Desc, r.Versions)
}

// A cursor is the base64 text of its order and the last key.

func encodeCursor(order string, key ...int64) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Append(nil, order, key))
}

func decodeCursor(cursor, order string, n int) ([]int64, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, fmt.Errorf("read the cursor: %w", err)
	}
	key := make([]int64, n)
	form, into := "", make([]any, n)
	for i := range key {
		form, into[i] = form+" %d", &key[i]
	}
	if _, err := fmt.Sscanf(string(text), order+"["+form[1:]+"]", into...); err != nil {
		return nil, fmt.Errorf("read the cursor of another listing: %w", err)
	}
	if encodeCursor(order, key...) != cursor {
		return nil, errors.New("the cursor was changed")
	}
	return key, nil
}
