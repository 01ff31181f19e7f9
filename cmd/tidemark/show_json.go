package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/backfill"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/picks"
)

// one makes an object from alternating names and values.
func one(pairs ...any) object {
	var o object
	for p := range slices.Chunk(pairs, 2) {
		o.columns = append(o.columns, p[0].(string))
		o.cells = append(o.cells, p[1])
	}
	return o
}

// each makes an object of each element of a list. The result is never nil.
func each[T any](list []T, f func(T) object) []object {
	out := make([]object, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// unset returns nil for an empty text.
func unset(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func quarantinedJSON(q postgres.Quarantined, pages []series.Fetch, decisions []postgres.Decided) object {
	return one("id", q.ID, "source", q.Source, "run", q.RunID, "answered", q.CreatedAt, "last seen", q.LastSeenAt, "fetches", q.Fetches,
		"decision", q.Decision, "findings", append([]series.Finding{}, q.Findings...),
		"pages", each(pages, func(f series.Fetch) object { return one("fetch", f.ID, "url", f.URL, "sha256", f.SHA256) }),
		"decisions", each(decisions, func(d postgres.Decided) object {
			return one("decision", d.Decision, "at", d.At, "by", d.By, "reason", d.Reason)
		}))
}

func keyJSON(k postgres.KeyRow, lines []postgres.BalanceEntry, plans []postgres.PlanChange) object {
	return one("key", k.PublicID, "name", k.Name, "prefixes", append([]string{}, k.Prefixes...), "created", k.CreatedAt, "last used", k.LastUsedAt,
		"balance", k.Balance.String(), "pro until", k.ProUntil, "revoked", k.RevokedAt, "revoked by", k.RevokedBy, "revoked reason", k.RevokedReason,
		"plans", each(plans, func(c postgres.PlanChange) object {
			return one("at", c.At, "kind", c.Kind, "pro until", c.ProUntil, "ref", c.Ref, "by", c.By, "reason", c.Reason)
		}),
		"ledger", each(lines, func(l postgres.BalanceEntry) object {
			return one("at", l.At, "kind", l.Kind, "amount", l.Amount.String(), "balance", l.Balance.String(), "endpoint", l.Endpoint, "ref", l.Ref,
				"by", l.By, "reason", l.Reason)
		}))
}

func claimJSON(x accounts.Claim, granted []accounts.Transfer) object {
	return one("id", x.ID, "key", x.PublicID, "chain", x.ChainID, "transaction", x.TxHash, "state", x.State, "reason", x.Reason, "made", x.CreatedAt,
		"asked", x.AskedAt, "expires", x.ExpiresAt,
		"transfers", each(granted, func(g accounts.Transfer) object {
			return one("id", g.ID, "log", g.LogIndex, "sender", g.Sender, "amount", g.Amount.String(), "block", g.BlockNumber,
				"state", g.State, "gives", g.Gives, "granted", g.GrantedAt, "ended", g.EndedAt, "reason", g.Reason)
		}))
}

func backfillJSON(p backfill.Progress, fetches []postgres.BackfillFetch, slots []postgres.BackfillSlot) object {
	return one("id", p.ID, "signal", p.Signal, "from", p.FromDay.Format(time.DateOnly), "to", p.ToDay.Format(time.DateOnly), "zone", p.Zone, "as of", p.AsOf,
		"existing", p.Existing, "state", p.State, "note", p.Note, "remains", unset(p.Remains()), "planned", p.PlannedAt, "applied", p.AppliedAt, "finished", p.FinishedAt,
		"slots", p.Total(), "done", p.Done, "added", p.Added, "unchanged", p.Unchanged, "differs", p.Differs, "failed", p.Failed,
		"cancelled", p.Cancelled, "pending", p.Pending, "skipped", p.Skipped, "running", p.Running,
		"sources", each(fetches, func(f postgres.BackfillFetch) object {
			return one("source", f.Source, "run", f.RunID, "status", f.RunStatus, "error", f.Error, "waived", f.Waived)
		}),
		"shown", each(slots, func(s postgres.BackfillSlot) object {
			return one("slot", s.Slot, "status", s.Status, "outcome", s.Outcome, "old", s.OldValue, "new", s.NewValue, "run", s.RunID,
				"reason", s.Reason, "result", nullable(s.Result))
		}))
}

// nullable returns null for empty JSON.
func nullable(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// scoreJSON prints the scores of a company on a day, or why it has none.
func scoreJSON(p *program, ranking picks.Ranking, day, asOf time.Time, ticker string) error {
	ticker = strings.ToUpper(ticker)
	o := one("ticker", ticker, "day", day.Format(time.DateOnly), "as of", asOf, "companies scored", len(ranking.Scores), "left out", len(ranking.Excluded))
	add := func(more object) error {
		o.columns, o.cells = append(o.columns, more.columns...), append(o.cells, more.cells...)
		return writeJSON(p.stdout, o)
	}
	reasonIn := func(list []picks.Exclusion) *string {
		if i := slices.IndexFunc(list, func(e picks.Exclusion) bool { return e.Ticker == ticker }); i >= 0 {
			return &list[i].Reason
		}
		return nil
	}
	known := func(v float64) *float64 { return postgres.Known(v) }
	for _, s := range ranking.Scores {
		if s.Ticker != ticker {
			continue
		}
		return add(one("picked", ranking.Pick != nil && ranking.Pick.CIK == s.CIK, "passed over", reasonIn(ranking.Passed), "excluded", nil,
			"cik", s.CIK.String(), "name", s.Name, "sector", s.Sector, "close", fmt.Sprint(s.Price), "score", s.Total, "rank", s.Rank, "groups", s.Groups,
			"metrics", each(s.Metrics, func(m picks.Metric) object {
				return one("metric", m.ID, "group", m.Group, "applies", m.Applies, "value", known(m.Value), "compared as", known(m.Clipped), "z score", known(m.Z),
					"peers", m.Peers, "by sector", m.BySector,
					"facts", each(m.Facts, func(f equity.Fact) object {
						return one("tag", f.Taxonomy+":"+f.Tag, "end", f.End.Format(time.DateOnly), "value", f.Value, "unit", f.Unit, "form", f.Form,
							"accession", f.Accession, "filed", f.Filed.Format(time.DateOnly))
					}))
			}),
			"own signals", s.Tilt.Total))
	}
	if why := reasonIn(ranking.Excluded); why != nil {
		return add(one("picked", false, "passed over", nil, "excluded", why))
	}
	return fmt.Errorf("%s was not in the universe on %s", ticker, day.Format(time.DateOnly))
}
