package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/inspection"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// recalled are units that the quarantine has, as an inspection takes them.
func recalled(standing map[string]postgres.Quarantined) map[string]inspection.Recalled {
	units := make(map[string]inspection.Recalled, len(standing))
	for digest, q := range standing {
		u := inspection.Recalled{ID: q.ID, Findings: q.Findings}
		if q.Decision == postgres.QuarantineRejected {
			u.RejectedBy, u.Reason = *q.DecidedBy, *q.Reason
		}
		units[digest] = u
	}
	return units
}

// quarantine records the held units, and the further fetches of rejected ones. holds describes the held units; nil if none is held. err
// is the database's error.
func (i Ingest) quarantine(ctx context.Context, t task.Task, c *inspection.Inspection) (holds, err error) {
	var list []error
	for _, u := range c.Unfree() {
		answers := u.WithReadings()
		findings := u.Findings
		if u.New() {
			effect, err := i.effect(ctx, u.At(), backfill.Loads(c.Source, answers))
			if err != nil {
				return nil, err
			}
			findings = append(slices.Clone(findings), effect...)
		}
		fetches := make([]int64, len(answers))
		for n, a := range answers {
			fetches[n] = a.Fetch.ID
		}
		id, err := i.DB.Quarantine(ctx, t.Fence, postgres.Quarantined{
			Source: c.Source.ID, Digest: u.Digest, Findings: findings, CreatedAt: u.At(),
		}, fetches)
		if err != nil {
			return nil, err
		}
		if u.Held() {
			list = append(list, u.Problem(id))
		}
	}
	return errors.Join(list...), nil
}

// effect says of each series what it would do to accept responses.
func (i Ingest) effect(ctx context.Context, at time.Time, loads []postgres.Load) ([]series.Finding, error) {
	list, err := i.DB.EffectOf(ctx, 0, at, loads)
	if err != nil {
		return nil, err
	}
	out := make([]series.Finding, len(list))
	for n, e := range list {
		out[n] = series.Finding{
			Check: inspection.Accept, Severity: series.SeverityWarn, Series: e.Series, From: e.From, To: e.To, Observed: "to accept it " + TellEffect(e),
			Expected: "what you decide",
		}
	}
	return out, nil
}

// TellEffect says in words what storing an answer does to a series.
func TellEffect(e postgres.Effect) string {
	rows := "rows"
	if e.Rows() == 1 {
		rows = "row"
	}
	return fmt.Sprintf("adds %d %s: %d new, %d revised, %d withdrawn", e.Rows(), rows, e.Added, e.Revised, e.Removed)
}

// Accept stores a response that is in quarantine, or was rejected, because an operator confirms it. It is parsed again from the archive,
// and known from the time of the decision on. The signals that depend on the source become due. It returns the number of added rows. If
// it cannot be done, it returns an error of postgres.AcceptQuarantined.
func (i Ingest) Accept(ctx context.Context, id int64, d postgres.Decision) (added int64, err error) {
	_, src, loads, err := i.quarantined(ctx, id)
	if err != nil {
		return 0, err
	}
	return i.DB.AcceptQuarantined(ctx, id, d, loads, i.Dependents[src.ID])
}

// Effect returns the effect of Accept at an instant, series by series. It changes nothing.
func (i Ingest) Effect(ctx context.Context, id int64, at time.Time) ([]postgres.Effect, error) {
	q, _, loads, err := i.quarantined(ctx, id)
	if err == nil && q.Decision == postgres.QuarantineAccepted {
		err = fmt.Errorf("accept quarantine %d: %w: %s", id, postgres.ErrDecided, q.Decision)
	}
	if err != nil {
		return nil, err
	}
	return i.DB.EffectOf(ctx, id, at, loads)
}

// quarantined reads an answer that was held back from the archive.
func (i Ingest) quarantined(ctx context.Context, id int64) (q postgres.Quarantined, src ingest.Source, loads []postgres.Load, err error) {
	list, err := i.DB.Quarantined(ctx, postgres.QuarantineFilter{ID: id, Limit: 1})
	if err != nil {
		return q, src, nil, err
	}
	if len(list) == 0 {
		return q, src, nil, fmt.Errorf("quarantine %d: %w", id, postgres.ErrNotFound)
	}
	q = list[0]
	src, ok := i.Sources[q.Source]
	if !ok {
		return q, src, nil, fmt.Errorf("quarantine %d is of the source %q, which this program does not have", id, q.Source)
	}
	pages, err := i.DB.QuarantinedPages(ctx, id)
	if err != nil {
		return q, src, nil, err
	}
	for _, f := range pages {
		body, err := i.Engine.Archive.Get(ctx, f.SHA256)
		if err != nil {
			return q, src, nil, fmt.Errorf("quarantine %d: fetch %d of %s: %w", id, f.ID, f.URL, err)
		}
		batch, err := ingest.Parse(src, f, body)
		if err != nil {
			return q, src, nil, fmt.Errorf("quarantine %d: fetch %d: %w", id, f.ID, err)
		}
		loads = append(loads, backfill.Load(src, ingest.Fetched{Fetch: f, Batch: batch}))
	}
	return q, src, loads, nil
}
