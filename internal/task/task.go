// Package task is what the scheduler and the workers both know: the names of the jobs, the payload a task carries, how its id
// follows from it, and the queues. It is a leaf: no queue library, no database.
package task

import (
	"fmt"
	"time"
)

// The jobs. A job with a subject ("ingest" of "eia-petroleum-spot") is due at slots.
const (
	Ingest = "ingest" // subject: a source id
	Signal = "signal" // subject: a signal id
	// Forecast grades the forecasts of a signal whose figures were printed, and records the next ones. Subject: a signal id.
	Forecast = "forecast"
	// Equities brings one of the sources about companies up to date. Subject: its id.
	Equities = "equities"
	// Backfill does some slots of a backfill, or reads a source's archive again for one. Subject: the backfill's number, for the
	// latter with a slash and the source id.
	Backfill = "backfill"
	// Pick records the pick of the slot's day; Announce announces what is due. Subject: Daily.
	Pick     = "pick"
	Announce = "announce"
	// Publish brings what is published around the record up to date. Subject: one of those below.
	Publish = "publish"
	// Ledger commits what the record has gained, and pushes it. Subject: SubjectLedger.
	Ledger = "ledger"
	// Attest puts the head of the announced chain on the L2 and follows it until it is final. Subject: SubjectAttest.
	Attest = "attest"
	// X402 asks the chain what became of a payment by request. Subject: its number, or "terms" for the token that is paid in.
	X402 = "x402"
	// Claims asks the chain about transfers that keys claim. Subject: the transaction's hash.
	Claims = "claims"
	// Processor looks at what the payment processor reported. Subject: the event's number.
	Processor = "processor"
	// Accounts checks the balances and forgets what was kept for repetitions. Subject: Daily.
	Accounts = "accounts"
	// Archive moves raw bytes that are old to the colder archive. Subject: Daily.
	Archive = "archive"
)

// The subjects of the jobs around the record.
const (
	Daily         = "daily"
	Research      = "research"
	Portfolio     = "portfolio"
	Events        = "events"
	Economy       = "economy"
	Digest        = "digest"
	SubjectLedger = "git"
	SubjectAttest = "base"
)

// AfterAnnouncement are the subjects of Publish that an announcement changes.
var AfterAnnouncement = []string{Events, Portfolio}

// The queues. What somebody waits for by the clock has one of its own, with workers of its own: it never waits for the answer of an
// upstream. So has what strangers can ask for, which must not delay it: claims and unclear payments. The others follow in falling weight.
const (
	Timely   = "timely"
	Payments = "payments"
	Critical = "critical"
	Default  = "default"
	Low      = "low"
)

// Queues maps each queue but Timely and Payments to its weight.
var Queues = map[string]int{Critical: 6, Default: 3, Low: 1}

// Policy is how a job is run.
type Policy struct {
	Queue string
	// Timeout bounds one attempt.
	Timeout time.Duration
	// MaxAttempts counts tries after errors. An attempt lost with its worker counts too.
	MaxAttempts int
	// Backoff is the pause after the first failed attempt; it doubles with each further one.
	Backoff time.Duration
}

// Policies holds the policy of every job. A job without one is refused at start.
var Policies = map[string]Policy{
	Ingest: {Queue: Default, Timeout: 10 * time.Minute, MaxAttempts: 8, Backoff: 20 * time.Second},
	Signal: {Queue: Critical, Timeout: 2 * time.Minute, MaxAttempts: 8, Backoff: 5 * time.Second},
	// What fails is tried again until the next day's run: a print may come any morning.
	Forecast: {Queue: Default, Timeout: 5 * time.Minute, MaxAttempts: 100, Backoff: 10 * time.Second},
	// The first run of a large universe takes long. Some publishers have the closes an hour or two after the exchange: the attempts
	// reach from twenty past four to seven in the evening.
	Equities: {Queue: Default, Timeout: 30 * time.Minute, MaxAttempts: 12, Backoff: 20 * time.Second},
	// A run with slots ends itself after seconds; reading an archive may take long.
	Backfill: {Queue: Low, Timeout: 30 * time.Minute, MaxAttempts: 8, Backoff: 5 * time.Second},
	// What fails is tried again until the day is over. To wait for prices is no failure.
	Pick:     {Queue: Timely, Timeout: 10 * time.Minute, MaxAttempts: 1000, Backoff: 5 * time.Second},
	Announce: {Queue: Timely, Timeout: 2 * time.Minute, MaxAttempts: 100, Backoff: 5 * time.Second},
	Publish:  {Queue: Default, Timeout: 10 * time.Minute, MaxAttempts: 500, Backoff: 5 * time.Second},
	// The migrations have the queue and the attempts of the next three once more.
	X402:      {Queue: Payments, Timeout: time.Minute, MaxAttempts: 8, Backoff: 5 * time.Second},
	Claims:    {Queue: Payments, Timeout: time.Minute, MaxAttempts: 8, Backoff: time.Second},
	Processor: {Queue: Payments, Timeout: 2 * time.Minute, MaxAttempts: 12, Backoff: 5 * time.Second},
	Ledger:    {Queue: Default, Timeout: 10 * time.Minute, MaxAttempts: 8, Backoff: 10 * time.Second},
	Attest:    {Queue: Timely, Timeout: 5 * time.Minute, MaxAttempts: 8, Backoff: 10 * time.Second},
	Accounts:  {Queue: Low, Timeout: 10 * time.Minute, MaxAttempts: 8, Backoff: time.Minute},
	// The first run may have the bytes of years to move; the next attempt goes on where one has ended.
	Archive: {Queue: Low, Timeout: 30 * time.Minute, MaxAttempts: 20, Backoff: time.Minute},
}

// Fence names one attempt of one run. Every commit of a handler is conditional on it, so that an attempt that was given up (its
// worker frozen, killed or cut off) can no longer change anything.
type Fence struct {
	RunID   int64 `json:"run_id"`
	Attempt int   `json:"attempt"`
}

// Task is one attempt of a job for a subject at a logical time, as it travels through the queue.
type Task struct {
	Fence
	Job     string `json:"job"`
	Subject string `json:"subject"`
	// Slot is the logical time, in UTC: the instant the run is for.
	Slot  time.Time `json:"slot"`
	Queue string    `json:"-"`
	// Failures counts the attempts before this one that ended in an error.
	Failures int    `json:"failures,omitempty"`
	Params   Params `json:"params,omitzero"`
	// Trace is where the run stands in which trace (W3C Trace Context); empty where there is none.
	Trace string `json:"trace,omitempty"`
}

// Params is what a run needs to know beyond its subject and slot. The zero value is what every scheduled run has.
type Params struct {
	// Window bounds the observation times that an ingest asks for. Nil: the whole history.
	Window *Window `json:"window,omitempty"`
}

// Window bounds observation times, both ends included. A zero end is open.
type Window struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// ID derives the queue's id of the task, so that any number of schedulers enqueue one and the same: "ingest:eia@<slot>", with
// "#n" for the attempts after the first.
func (t Task) ID() string {
	id := fmt.Sprintf("%s:%s@%s", t.Job, t.Subject, t.Slot.UTC().Format(time.RFC3339Nano))
	if t.Attempt > 1 {
		id += fmt.Sprintf("#%d", t.Attempt)
	}
	return id
}

// Schedule says when a job with a subject is due, and how far its slots were recorded.
type Schedule struct {
	Job, Subject string
	// Cron is a five-field expression in the time zone Zone (IANA name).
	Cron, Zone string
	// CatchUp is "skip", "latest" or "all": what happens to slots missed while nothing was running.
	CatchUp string
	// Paused schedules have their slots recorded as skipped.
	Paused bool
	// LastSlot is the newest slot that was recorded, nil before the first.
	LastSlot *time.Time
}

// Slot is a slot that has come.
type Slot struct {
	At time.Time
	// Trigger is TriggerCron for a slot that is on time and TriggerCatchUp for one that was missed.
	Trigger string
	// Skip is why the slot is not run; empty for one that is.
	Skip string
	// Trace is where the trace of the slot's work begins; empty where there is none.
	Trace string
}

// What makes a run.
const (
	TriggerCron     = "cron"
	TriggerCatchUp  = "catchup"
	TriggerData     = "data"
	TriggerManual   = "manual"
	TriggerBackfill = "backfill"
)
