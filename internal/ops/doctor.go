package ops

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
	"tidemark/signals"
)

// The outcomes of a check.
const (
	Healthy = "ok"
	Warning = "warn"
	Bad     = "bad"
	Skipped = "skip" // the check could not be made
)

// Finding is the result of a check, in one line.
type Finding struct {
	// Name says what was checked.
	Name    string
	Outcome string
	// Text describes the state. Repair says what to do about it, empty if nothing needs to be done.
	Text, Repair string
}

// Check checks one thing.
type Check struct {
	Name string
	Run  func(ctx context.Context) []Finding
}

// checkTimeout limits one check.
const checkTimeout = 20 * time.Second

// RunChecks runs the checks in their order, passes on each finding, and reports whether no finding is bad.
func RunChecks(ctx context.Context, checks []Check, found func(Finding) error) (healthy bool, err error) {
	healthy = true
	for _, c := range checks {
		timed, stop := context.WithTimeout(ctx, checkTimeout)
		findings := c.Run(timed)
		stop()
		for _, f := range findings {
			if f.Name == "" {
				f.Name = c.Name
			}
			f.Text = plain.Text(f.Text)
			if err := found(f); err != nil {
				return false, err
			}
			healthy = healthy && f.Outcome != Bad
		}
	}
	return healthy, nil
}

// Print prints a finding in one line.
func Print(w io.Writer, f Finding) error {
	if f.Repair != "" {
		f.Text += " -> " + f.Repair
	}
	_, err := fmt.Fprintf(w, "%-5s %-9s %s\n", f.Outcome, f.Name, strings.Join(strings.Fields(f.Text), " "))
	return err
}

// Result returns a list of a single finding.
func Result(outcome, repair, format string, args ...any) []Finding {
	return []Finding{{Outcome: outcome, Text: fmt.Sprintf(format, args...), Repair: repair}}
}

// clockSlack is the maximum difference between the clocks of this machine and the database.
const clockSlack = 2 * time.Second

// ServerChecks returns the checks of a checkup of the database server.
func ServerChecks(c postgres.Checkup) []Check {
	said := func(name string, f []Finding) Check {
		return Check{name, func(context.Context) []Finding { return f }}
	}
	database := Result(Healthy, "", "Postgres %s, schema %d, %d MB, %d of %d connections in use", c.Version, c.Schema, c.Size>>20, c.Connections, c.MaxConnections)
	if 10*c.Connections > 9*c.MaxConnections {
		database = Result(Warning, "raise max_connections, or run fewer processes", "%d of %d connections in use", c.Connections, c.MaxConnections)
	}
	if c.ReadOnly && !c.Replica { // the check of the replica tells of one
		database = Result(Bad, "set default_transaction_read_only to off, and find out who set it to on", "the database is read-only: nothing can be written")
	}
	clock := Result(Healthy, "", "this machine and the database agree")
	if c.Ahead.Abs() > clockSlack {
		clock = Result(Bad, "synchronise both with NTP: slots and keys go by them", "the database's clock is %s from this machine's", c.Ahead.Round(time.Millisecond))
	}
	grants := Result(Healthy, "", "the API's role can change nothing by itself")
	if len(c.Writable) > 0 {
		grants = Result(Bad, fmt.Sprintf("revoke insert, update, delete, truncate on %s from tidemark_api", c.Writable[0]), "the API's role could change %v", c.Writable)
	}
	if len(c.Writable) == 0 && len(c.Filling) > 0 {
		grants = Result(Warning, "run `tidemark migrate`; if this remains, as a superuser: "+strings.Join(c.Filling, "; "),
			"the API's role could fill the disk with temporary tables or large objects")
	}
	guards := Result(Healthy, "", "%d append-only tables are guarded", len(postgres.AppendOnly))
	if len(c.Unguarded) > 0 {
		guards = Result(Bad, fmt.Sprintf("alter table %s enable trigger user, and find out who disabled it", c.Unguarded[0]), "rows of %v can be changed", c.Unguarded)
	}
	return []Check{said("database", database), said("clock", clock), said("grants", grants), said("guards", guards)}
}

// Unasked is a source that is not asked, because its terms are not accepted.
type Unasked struct {
	Source string
	// Setting is the setting that accepts the terms. Signals are the signals that lack the source's data.
	Setting string
	Signals []string
}

// StateChecks returns the checks of a state: a line for each fault, or one line that all is well.
func StateChecks(s State, l Limits, unasked []Unasked) []Check {
	wrong := Conditions(s, l)
	return []Check{{"signals", func(context.Context) []Finding {
		return signalFindings(s, unasked, conditionFindings(wrong, []string{"signal-stale"}, ""))
	}}, {"sources", func(context.Context) []Finding {
		return sourceFindings(s, unasked)
	}}, {"hosts", func(context.Context) []Finding {
		return hostFindings(s)
	}}, {"work", func(context.Context) []Finding {
		return workFindings(s, wrong)
	}}, {"picks", func(context.Context) []Finding {
		return conditionFindings(wrong, []string{"pick-missing"}, "no day is missing")
	}}, {"chain", func(context.Context) []Finding {
		return conditionFindings(wrong, []string{"chain-invalid"}, fmt.Sprintf("all %d announced links hold", s.Chain.Length))
	}}, {"ledger", func(context.Context) []Finding {
		if s.Ledger == nil {
			return Result(Skipped, "", "its job has not run yet")
		}
		return conditionFindings(wrong, []string{"ledger"}, fmt.Sprintf("%s, %d entries wait", s.Ledger.Status, s.Record.Uncommitted))
	}}, {"log", func(context.Context) []Finding {
		if len(s.Logs) == 0 {
			return Result(Skipped, "", "no transparency log is kept: LOG_ORIGIN was never set")
		}
		return conditionFindings(wrong, []string{"log", "log-aside", "log-early", "log-late", "seal"}, fmt.Sprintf("%d logs grow, and every recent seal was opened in time", len(s.Logs)))
	}}, {"attester", func(context.Context) []Finding {
		switch a := s.Attester; {
		case a == nil:
			return Result(Skipped, "", "its job has not run yet")
		case a.Status == postgres.AttesterOff:
			return Result(Warning, "docs/outside-records.md says how to set it up", "%s", a.Note)
		default:
			days := ""
			if a.RunwayDays != nil {
				days = ", the balance pays for " + Runway(*a.RunwayDays)
			}
			return conditionFindings(wrong, []string{"attester", "attester-gas", "attestation-late"}, fmt.Sprintf("%s, %d picks wait%s", a.Status, s.Record.Length-s.Record.Attested, days))
		}
	}}, {"backup", func(context.Context) []Finding {
		if s.BackedUpAt == nil {
			return Result(Skipped, "", "`tidemark backup` has made none")
		}
		return conditionFindings(wrong, []string{"backup-late"}, "the newest began "+age(s.Now.Sub(*s.BackedUpAt))+" ago")
	}}}
}

// signalFindings names the signals without a value, and the stale signals.
func signalFindings(s State, unasked []Unasked, stale []Finding) (list []Finding) {
	for _, f := range s.Signals {
		if f.State == view.Unknown && f.Status != signals.StatusDeprecated {
			one := Finding{Outcome: Warning, Text: f.Signal + " has no value yet", Repair: "see the lines about its sources, and `tidemark schedule next`"}
			for _, u := range unasked {
				if slices.Contains(u.Signals, f.Signal) {
					one.Text += ": its source " + u.Source + " is not asked"
					one.Repair = "read the publisher's terms, and accept them with " + u.Setting + "=yes"
				}
			}
			list = append(list, one)
		}
	}
	if stale[0].Outcome != Healthy {
		list = append(list, stale...)
	}
	if list == nil {
		return Result(Healthy, "", "%d signals have a value, none is stale", len(s.Signals))
	}
	return list
}

// workFindings counts the open runs, and the runs that are tried again.
func workFindings(s State, wrong []postgres.Alert) []Finding {
	open := fmt.Sprintf("%d runs due, %d queued, %d at work", s.Open.DueNow(), s.Open.Queued, s.Open.Running)
	if s.Open.Later > 0 {
		open += fmt.Sprintf(", %d wait for a later try", s.Open.Later)
	}
	never := 0
	for _, t := range s.Troubled {
		if t.Never {
			never++
		}
	}
	list := conditionFindings(wrong, []string{"job-failed", "job-late", "work-waits"}, open+", no job failed last")
	if len(s.Troubled) == 0 {
		return list
	}
	if list[0].Outcome == Healthy {
		list = nil
	}
	return append(list, Finding{
		Outcome: Warning, Text: fmt.Sprintf("%s; of the jobs, %d failed last and %d have never succeeded", open, len(s.Troubled), never),
		Repair: "see the lines about sources",
	})
}

// sourceFindings names the sources that are not asked, the jobs that will be retried, with the error and the time until the retry, and the
// sources of which no attempt has ended yet.
func sourceFindings(s State, unasked []Unasked) (list []Finding) {
	for _, u := range unasked {
		list = append(list, Finding{
			Outcome: Warning, Text: u.Source + " is not asked: its terms are not accepted", Repair: "read the publisher's terms, and accept them with " + u.Setting + "=yes",
		})
	}
	for _, t := range s.Troubled {
		text := fmt.Sprintf("%s %s fails", t.Job, t.Subject)
		if t.Never {
			text = fmt.Sprintf("%s %s has never succeeded", t.Job, t.Subject)
		}
		next := "it is being tried again now"
		if t.Wait > 0 {
			next = "the next try is in " + telemetry.Duration(t.Wait.Round(time.Second))
		}
		list = append(list, Finding{
			Outcome: Warning, Text: fmt.Sprintf("%s (attempt %d): %s; %s", text, t.Failures, causeOf(t.Error), next),
			Repair: fmt.Sprintf("%s, or `tidemark runs %d`", repairOf(t.Error), t.Run),
		})
	}
	if len(s.Untried) > 0 {
		list = append(list, Finding{
			Outcome: Warning, Text: "asked for the first time, without a result yet: " + strings.Join(s.Untried, ", "), Repair: "wait some minutes, then see `tidemark runs --job=ingest`",
		})
	}
	if list == nil {
		return Result(Healthy, "", "no job waits for another try after an error")
	}
	return list
}

// causeOf returns the causes in a fetch error, which may be several errors, a line each. What comes before a cause names the host and the
// request.
func causeOf(text string) string {
	var causes []string
	for l := range strings.Lines(plain.Text(text)) {
		if _, cause, found := strings.Cut(l, "upstream trouble: "); found {
			l = cause
		}
		if l = strings.TrimSpace(l); l != "" && !slices.Contains(causes, l) {
			causes = append(causes, l)
		}
	}
	text = strings.Join(causes, "; ")
	return line(&text)
}

// repairOf returns the repair for an error that many sources can have.
func repairOf(text string) string {
	text = plain.Text(text)
	switch {
	case strings.Contains(text, plain.NoRoom):
		return "make room: a disk is full (see the lines about disks)"
	case strings.Contains(text, plain.NoName), strings.Contains(text, plain.NoNameServer), strings.Contains(text, plain.NoWay):
		return "check the network and the name server of this machine"
	case strings.Contains(text, plain.NoListener), strings.Contains(text, plain.NoAnswer):
		return "check whether the publisher's site answers from this machine"
	}
	return "look at the error"
}

// unanswered reports whether an error says that a host does not answer.
func unanswered(text string) bool {
	text = plain.Text(text)
	return slices.ContainsFunc([]string{"no answer", plain.NoName, plain.NoNameServer, plain.NoWay, plain.NoListener}, func(phrase string) bool {
		return strings.Contains(text, phrase)
	})
}

// hostFindings names the sources whose upstreams do not answer, and names the upstreams that are blocked for a while.
func hostFindings(s State) (list []Finding) {
	var silent []string
	for _, t := range s.Troubled {
		if unanswered(t.Error) {
			silent = append(silent, t.Subject)
		}
	}
	if silent != nil {
		list = append(list, Finding{Outcome: Warning, Text: "no answer from the upstreams of " + strings.Join(silent, ", "), Repair: "see the lines about sources"})
	}
	for _, h := range s.Hosts {
		list = append(list, Finding{Outcome: Warning, Text: fmt.Sprintf("%s asked to be left alone, and is asked again in %s", h.Host, telemetry.Duration(h.Wait.Round(time.Second)))})
	}
	if list == nil {
		return Result(Healthy, "", "no upstream is silent, and no publisher has asked to be left alone")
	}
	return list
}

// conditionFindings returns the conditions of some kinds as findings, or one finding that all is well. Their texts include the repair.
func conditionFindings(wrong []postgres.Alert, kinds []string, well string) (list []Finding) {
	for _, a := range wrong {
		for _, k := range kinds {
			if a.Kind == k {
				outcome := Warning
				if a.Severity == postgres.AlertError {
					outcome = Bad
				}
				list = append(list, Finding{Outcome: outcome, Text: a.Text})
			}
		}
	}
	if list == nil {
		return Result(Healthy, "", "%s", well)
	}
	return list
}
