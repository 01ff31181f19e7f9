package workers

import (
	"context"
	"errors"
	"fmt"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// quarantine notes what is held, and the further fetches of what was rejected. The error says what is held, nil if nothing is; the
// second one is the database's.
func (i Ingest) quarantine(ctx context.Context, t task.Task, c *inspection) (holds, err error) {
	var list []error
	for _, u := range c.units {
		if u.state == good {
			continue
		}
		var fetches []int64
		for _, a := range u.answers {
			if hasReadings(a) {
				fetches = append(fetches, a.Fetch.ID)
			}
		}
		id, err := i.DB.Quarantine(ctx, t.Fence, postgres.Quarantined{
			Source: c.src.ID, Digest: u.digest, Findings: u.findings, CreatedAt: newestFetch(u.answers),
		}, fetches)
		if err != nil {
			return nil, err
		}
		if u.state == held {
			list = append(list, heldError(id, u))
		}
	}
	return errors.Join(list...), nil
}

// heldError says for people what is held back, why, and what to do.
func heldError(id int64, u *unit) error {
	f := worst(u.findings)
	last := u.answers[len(u.answers)-1].Fetch
	more := ""
	if n := len(u.findings); n > 1 {
		more = fmt.Sprintf(" (and %d more)", n-1)
	}
	return fmt.Errorf("%s: nothing of the answer is stored, it is in quarantine %d: check %s of %s: %s, expected %s%s: see `tidemark quarantine show %d`, then accept or reject it",
		last.URL, id, f.Check, f.Series, f.Seen, f.Expected, more, id)
}

// Accept stores an answer that is in quarantine, or was rejected, because a person says that it is true: parsed again from the
// archive, and known from the time of the decision on. The signals that rest on the source are due. It returns how many rows were
// added. The errors of postgres.AcceptQuarantined tell why it cannot be done.
func (i Ingest) Accept(ctx context.Context, id int64, d postgres.Decision) (added int64, err error) {
	list, err := i.DB.Quarantined(ctx, postgres.QuarantineFilter{ID: id, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		return 0, fmt.Errorf("quarantine %d: %w", id, postgres.ErrNotFound)
	}
	src, ok := i.Sources[list[0].Source]
	if !ok {
		return 0, fmt.Errorf("quarantine %d is of the source %q, which this program does not have", id, list[0].Source)
	}
	pages, err := i.DB.QuarantinedPages(ctx, id)
	if err != nil {
		return 0, err
	}
	var loads []postgres.Load
	for _, f := range pages {
		body, err := i.Engine.Archive.Get(ctx, f.SHA256)
		if err != nil {
			return 0, fmt.Errorf("quarantine %d: fetch %d of %s: %w", id, f.ID, f.URL, err)
		}
		batch, err := ingest.Parse(src, f, body)
		if err != nil {
			return 0, fmt.Errorf("quarantine %d: fetch %d: %w", id, f.ID, err)
		}
		loads = append(loads, backfill.Load(src, ingest.Fetched{Fetch: f, Batch: batch}))
	}
	return i.DB.AcceptQuarantined(ctx, id, d, loads, i.Dependents[src.ID])
}
