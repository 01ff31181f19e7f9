package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"tidemark/internal/series"
	"tidemark/internal/telemetry"
)

// Parse reads one recorded response with today's parser of its source: the same path and the same checks as on arrival. It does no I/O.
// The parser sees the URL as in the fetch log, so Batch.Next, if any, must not be requested.
//
// The error is an *Error of kind WrongType or Layout, or Refused for a fetch that was not a good response. It wraps ErrNoReadings for an
// empty last page of a source with series. In Collect such a page may end a chain that has readings; here the caller must decide.
func Parse(src Source, f series.Fetch, body []byte) (Batch, error) {
	q := fetchRequest{source: src, limits: src.Limits, name: f.URL}
	if f.Status != http.StatusOK && !f.NotModified {
		failed := q.fail(Refused, fmt.Errorf("a fetch of status %d has nothing to parse, expected 200 or a confirmed 304", f.Status))
		failed.Status = f.Status
		return Batch{}, failed
	}
	batch, err := q.parse(Request{URL: f.URL}, f, body, make(pageDedupe), nil)
	if err != nil {
		return Batch{}, err
	}
	if batch.Empty() && batch.Next == nil && len(src.Series) > 0 {
		return Batch{}, q.fail(Layout, ErrNoReadings)
	}
	return batch, nil
}

// parse reads an answer as one page of a chain whose readings so far are in earlier. It adds its own to them.
func (a fetchResponse) parse(ctx context.Context, earlier pageDedupe, m *memory) (Batch, error) {
	_, span := telemetry.Step(ctx, "parse", slog.String("source", a.question.source.ID), slog.String("sha256", a.fetch.SHA256))
	batch, err := a.question.parse(a.question.asked(), a.fetch, a.body, earlier, m)
	span.Set(slog.Int("readings", len(batch.Readings)))
	span.End(err)
	return batch, err
}

// parse reads a body, unless m remembers it; a nil m remembers nothing.
func (q fetchRequest) parse(asked Request, f series.Fetch, body []byte, earlier pageDedupe, m *memory) (Batch, error) {
	if err := checkType(f.Header["Content-Type"], q.limits.ContentTypes); err != nil {
		failed := q.fail(WrongType, fmt.Errorf("%w (body archived as %s)", err, f.SHA256))
		failed.Status = f.Status
		return Batch{}, failed
	}
	address, saw := q.source.ID+" "+asked.URL+" "+q.name, ""
	remembers := m != nil && q.source.Epoch != nil
	var batch Batch
	var known bool
	var err error
	if remembers {
		saw = strings.Join([]string{f.SHA256, f.Header["Content-Type"], q.source.Epoch(f.FetchedAt)}, " ")
		batch, known = m.find(address, saw)
	}
	if !known {
		batch, err = q.read(Response{Request: asked, Header: httpHeader(f.Header), Body: body, FetchedAt: f.FetchedAt})
	}
	if err == nil {
		err = check(batch, q.source.Series, earlier)
	}
	if err == nil && remembers && !known {
		m.keep(address, saw, batch)
	}
	if err != nil {
		failed := q.fail(Layout, fmt.Errorf("parse the body archived as %s: %w", f.SHA256, err))
		failed.Status = f.Status
		return Batch{}, failed
	}
	return batch, nil
}

// read calls the source's parser. The bytes are a publisher's, and libraries for some formats panic on broken input: read turns such a
// panic into a parse error.
func (q fetchRequest) read(r Response) (batch Batch, err error) {
	defer func() {
		if p := recover(); p != nil {
			batch, err = Batch{}, fmt.Errorf("the parser panicked: %v", p)
		}
	}()
	return q.source.Parse(r)
}

// checkType holds a Content-Type against the media types that a source allows; none allowed means any.
func checkType(contentType string, allowed []string) error {
	if len(allowed) == 0 {
		return nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil { // broken parameters do not matter
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	if slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, media) }) {
		return nil
	}
	if media == "" {
		media = "none"
	}
	return fmt.Errorf("content type %s, expected %s", media, strings.Join(allowed, " or "))
}

// check checks a batch against the rules of Batch and the declaration of its source. Only a batch that passes adds to the earlier
// readings.
func check(b Batch, declared []series.Info, earlier pageDedupe) error {
	known := make(map[series.ID]bool, len(declared))
	for _, s := range declared {
		known[s.ID] = true
	}
	if err := checkCovers(b, known); err != nil {
		return err
	}
	if err := checkEquity(b); err != nil {
		return err
	}
	for _, v := range b.Vintages {
		if err := checkVintage(v, known); err != nil {
			return err
		}
	}
	for i, r := range b.Readings {
		err := checkReading(r, known)
		if err == nil && !earlier.add(r.Series, r.ObservedAt) {
			err = fmt.Errorf("a reading of %s at %s that an earlier page held already", r.Series, when(r.ObservedAt))
			if slices.ContainsFunc(b.Readings[:i], func(o Reading) bool { return o.Series == r.Series && o.ObservedAt.Equal(r.ObservedAt) }) {
				err = fmt.Errorf("two readings of %s at %s", r.Series, when(r.ObservedAt))
			}
		}
		if err != nil {
			earlier.forget(b.Readings[:i])
			return err
		}
	}
	return nil
}

func checkReading(r Reading, known map[series.ID]bool) error {
	switch {
	case !known[r.Series]:
		return fmt.Errorf("a reading of %q, which the source does not declare", r.Series)
	case r.ObservedAt.IsZero():
		return fmt.Errorf("a reading of %s without a time", r.Series)
	case r.Marker == "" && (math.IsNaN(r.Value) || math.IsInf(r.Value, 0)):
		return fmt.Errorf("the value of %s at %s is %v, expected a finite number", r.Series, when(r.ObservedAt), r.Value)
	}
	return nil
}

func checkVintage(v series.Observation, known map[series.ID]bool) error {
	err := checkReading(Reading{Series: v.Series, ObservedAt: v.ObservedAt, Value: v.Value, Marker: v.Marker}, known)
	if err == nil && v.VintageAt.Before(v.ObservedAt) {
		err = fmt.Errorf("a vintage of %s at %s that is older than that, of %s", v.Series, when(v.ObservedAt), when(v.VintageAt))
	}
	return err
}

func checkCovers(b Batch, known map[series.ID]bool) error {
	if len(b.Readings) == 0 && len(b.Covers) > 0 {
		return errors.New("a batch without readings claims to cover a series: that would withdraw all of it")
	}
	for _, c := range b.Covers {
		switch {
		case !known[c.Series]:
			return fmt.Errorf("a claim to cover %q, which the source does not declare", c.Series)
		case !c.Window.From.IsZero() && !c.Window.To.IsZero() && c.Window.To.Before(c.Window.From):
			return fmt.Errorf("a claim to cover %s from %s to before that", c.Series, when(c.Window.From))
		}
	}
	return nil
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }
