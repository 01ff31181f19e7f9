package monitor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// grace is how long something may be shown by the server before it is in the log.
const grace = 2 * time.Minute

// Limits of a server's lists. A server that lists more is not compared: each entry costs a request, or an alert.
const (
	maxPicks     = 500
	maxSignals   = 200
	maxForecasts = 20
)

// shown is the compared part of the server's list of picks.
type shown struct {
	Picks []struct {
		Seq  int64  `json:"seq"`
		Hash string `json:"hash"`
	} `json:"picks"`
}

// comparable reports whether the log was read and is the record of a server like ours: it begins with a genesis.
func (r *round) comparable() bool { return r.reached && r.state.Rules.Environment != "" }

// server holds what the server shows against the leaves.
func (r *round) server() {
	if r.o.Server == "" || !r.comparable() {
		return
	}
	base := trimmed(r.o.Server)
	absent := map[string]bool{}
	ctx, stop := r.part("its answers")
	defer stop()
	if err := r.picks(ctx, base, absent); err != nil {
		r.find(KindUnavailable, "server", true, "The server %s cannot be compared with the log: %v.", base, err)
		return
	}
	if err := r.forecasts(ctx, base, absent); err != nil {
		r.find(KindUnavailable, "server", true, "The server %s cannot be compared with the log: %v.", base, err)
		return
	}
	known := r.state.Absent
	r.state.Absent = map[string]time.Time{}
	said, more := 0, 0
	for _, what := range slices.Sorted(maps.Keys(absent)) {
		since, ok := known[what]
		if !ok {
			since = r.now
		}
		r.state.Absent[what] = since
		switch {
		case r.now.Sub(since) <= grace:
		case said == maxFaults:
			more++
		default:
			said++
			r.find(KindMissing, what, false, "The server shows %s, and the log %s lacks it since %s.", what, r.state.Origin, since.Format(time.RFC3339))
		}
	}
	if more > 0 {
		r.find(KindMissing, "more", false, "The server shows %d more entries that the log %s lacks.", more, r.state.Origin)
	}
}

// picks compares the chain's end: the newest pick of the log, and the server's later picks.
func (r *round) picks(ctx context.Context, base string, absent map[string]bool) error {
	have := r.state.Rules.Picks
	var list shown
	if err := r.ask(ctx, fmt.Sprintf("%s/api/v1/verify/picks?from_seq=%d&limit=%d", base, max(have.Length, 1), maxPicks), &list); err != nil {
		return err
	}
	if len(list.Picks) > maxPicks {
		return fmt.Errorf("it lists %d picks, and was asked for %d at most", len(list.Picks), maxPicks)
	}
	var found bool
	for _, p := range list.Picks {
		switch {
		case p.Seq == have.Length && p.Hash != have.Head:
			r.find(KindRecord, "picks", false, "The server %s shows the pick %d with the hash %.64q, and the log has %s.", base, p.Seq, p.Hash, have.Head)
			return nil
		case p.Seq == have.Length:
			found = true
		case p.Seq > have.Length:
			absent[fmt.Sprintf("pick %d", p.Seq)] = true
		}
	}
	if have.Length > 0 && !found {
		r.find(KindRecord, "picks", false, "The server %s does not show the pick %d, which the log has.", base, have.Length)
	}
	return nil
}

// forecasts looks for recorded forecasts whose numbers the log does not have.
func (r *round) forecasts(ctx context.Context, base string, absent map[string]bool) error {
	var catalog struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := r.ask(ctx, base+"/api/signals", &catalog); err != nil {
		return err
	}
	if len(catalog.Data) > maxSignals {
		return fmt.Errorf("it lists %d signals, more than %d", len(catalog.Data), maxSignals)
	}
	for _, s := range catalog.Data {
		if s.ID == "" || strings.ContainsAny(s.ID, "/?#%. ") {
			continue
		}
		var list struct {
			Data []struct {
				Seq   int64  `json:"seq"`
				ID    string `json:"id"`
				Grade *struct {
					Hash string `json:"hash"`
				} `json:"grade"`
			} `json:"data"`
		}
		if err := r.ask(ctx, fmt.Sprintf("%s/api/signals/%s/forecasts?limit=%d", base, s.ID, maxForecasts), &list); err != nil {
			return err
		}
		if len(list.Data) > maxForecasts {
			return fmt.Errorf("it lists %d forecasts, and was asked for %d at most", len(list.Data), maxForecasts)
		}
		for _, f := range list.Data {
			if f.Seq > r.state.Rules.Forecasts {
				absent[fmt.Sprintf("forecast %d", f.Seq)] = true
			}
		}
	}
	return nil
}

func (r *round) ask(ctx context.Context, url string, into any) error {
	body, err := r.get(ctx, url, maxAnswer)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// auditTimeout limits an audit. It is long enough to clone a ledger over a slow line.
const auditTimeout = 15 * time.Minute

// audit asks the git ledger and the attestations from time to time. In between the last answer holds.
func (r *round) audit() {
	if r.o.Audit == nil || !r.comparable() {
		return
	}
	if r.audited.IsZero() || r.now.Sub(r.audited) >= r.o.AuditEvery {
		ctx, stop := context.WithTimeoutCause(r.ctx, auditTimeout, fmt.Errorf("it took more than %s", auditTimeout))
		contradicts, err := r.o.Audit(ctx, r.state.Rules.Picks, r.state.Rules.Environment)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err, r.audited = cause, r.o.Now().UTC() // the log is looked at before the next try
		}
		stop()
		r.auditFound = nil
		if err != nil {
			r.auditFound = append(r.auditFound, Finding{Kind: KindUnavailable, Subject: "record", Warning: true, Text: "The public record cannot be checked: " + err.Error() + "."})
		} else {
			r.audited = r.now
		}
		for _, c := range contradicts {
			name, _, _ := strings.Cut(c, ":")
			r.auditFound = append(r.auditFound, Finding{Kind: KindRecord, Subject: name, Text: "The public record is contradicted: " + c + "."})
		}
	}
	r.found = append(r.found, r.auditFound...)
}
