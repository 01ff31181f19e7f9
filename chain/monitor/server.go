package monitor

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// grace is how long something may be shown by the server before it is in the log.
const grace = 2 * time.Minute

// shown is what the server's list of picks says, as far as it is compared.
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
	if err := r.picks(base, absent); err != nil {
		r.find(KindAway, "server", true, "The server %s cannot be compared with the log: %v.", base, err)
		return
	}
	if err := r.forecasts(base, absent); err != nil {
		r.find(KindAway, "server", true, "The server %s cannot be compared with the log: %v.", base, err)
		return
	}
	known := r.state.Absent
	r.state.Absent = map[string]time.Time{}
	for what := range absent {
		since, ok := known[what]
		if !ok {
			since = r.now
		}
		r.state.Absent[what] = since
		if r.now.Sub(since) > grace {
			r.find(KindMissing, what, false, "The server shows %s, and the log %s lacks it since %s.", what, r.state.Origin, since.Format(time.RFC3339))
		}
	}
}

// picks compares the chain's end: the newest pick of the log, and those that the server has beyond.
func (r *round) picks(base string, absent map[string]bool) error {
	have := r.state.Rules.Picks
	var list shown
	if err := r.ask(fmt.Sprintf("%s/api/v1/verify/picks?from_seq=%d&limit=500", base, max(have.Length, 1)), &list); err != nil {
		return err
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
func (r *round) forecasts(base string, absent map[string]bool) error {
	var catalog struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := r.ask(base+"/api/signals", &catalog); err != nil {
		return err
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
		if err := r.ask(base+"/api/signals/"+s.ID+"/forecasts?limit=20", &list); err != nil {
			return err
		}
		for _, f := range list.Data {
			if f.Seq > r.state.Rules.Forecasts {
				absent[fmt.Sprintf("forecast %d", f.Seq)] = true
			}
		}
	}
	return nil
}

func (r *round) ask(url string, into any) error {
	body, err := get(r.ctx, r.client, url, maxAnswer)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// audit asks the git ledger and the attestations from time to time. In between the last answer holds.
func (r *round) audit() {
	if r.o.Audit == nil || !r.comparable() {
		return
	}
	if r.audited.IsZero() || r.now.Sub(r.audited) >= r.o.AuditEvery {
		contradicts, err := r.o.Audit(r.ctx, r.state.Rules.Picks)
		r.auditFound = nil
		if err != nil {
			r.auditFound = append(r.auditFound, Finding{Kind: KindAway, Subject: "record", Warning: true, Text: "The public record cannot be checked: " + err.Error() + "."})
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
