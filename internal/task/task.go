// Package task holds the definitions that the scheduler and the workers share: the names of the jobs, the payload of a task, the derivation
// of its id, and the queues. It is a leaf package without queue library and database. Start at Task.
package task

import (
	"fmt"
	"time"
)

// The jobs. A job with a subject ("ingest" of "eia-petroleum-spot") is due at slots.
const (
	Ingest = "ingest" // subject: a source id
	Signal = "signal" // subject: a signal id
	// Forecast grades the forecasts of a signal whose figures were published, and records the next forecasts. Subject: a signal id.
	Forecast = "forecast"
	// Equities updates one source of data about companies. Subject: the source id.
	Equities = "equities"
	// Backfill runs some slots of a backfill, or reads a source's archive again for one. Subject: the backfill's number. For reading an
	// archive, a slash and the source id follow.
	Backfill = "backfill"
	// Pick records the pick of the slot's day. Announce announces the picks that are due. Subject: Daily.
	Pick     = "pick"
	Announce = "announce"
	// Publish updates data that is published around the record. Subject: one of the subjects below.
	Publish = "publish"
	// Ledger commits the new entries of the record to the git ledger, and pushes it. Subject: SubjectLedger.
	Ledger = "ledger"
	// Attest puts the head of the announced chain on the L2 and follows the transaction until it is final. Subject: SubjectAttest.
	Attest = "attest"
	// X402 queries the chain for the outcome of a payment by request. Subject: the payment's number, or "terms" for the token of payments.
	X402 = "x402"
	// Claims queries the chain for transfers that keys claim. Subject: the transaction's hash.
	Claims = "claims"
	// Processor handles an event that the payment processor reported. Subject: the event's number.
	Processor = "processor"
	// Accounts checks the balances. It also deletes expired idempotency records, stored responses and sessions, and all data past their
	// retention. Subject: Daily.
	Accounts = "accounts"
	// Webhook sends what waits for the webhook of a key's rule. Subject: the rule's public id.
	Webhook = "webhook"
	// Archive moves old raw bytes to the cold archive. Subject: Daily.
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
	Dataset       = "dataset"
	SubjectLedger = "git"
	SubjectAttest = "base"
)

// AfterAnnouncement lists the subjects of Publish that an announcement changes.
var AfterAnnouncement = []string{Events, Portfolio}

// The queues. Timely, Payments and Webhooks have their own workers, the other queues share workers by weight. Timely is for jobs with a fixed
// clock time: they never wait behind a request to an upstream. Payments is for work that clients can cause, claims and unclear payments, so
// that it cannot delay Timely. Webhooks is for requests to servers of strangers, which may take as long as they like. The others follow in
// descending weight.
const (
	Timely   = "timely"
	Payments = "payments"
	Webhooks = "webhooks"
	Critical = "critical"
	Default  = "default"
	Low      = "low"
)

// Queues maps each queue that shares the general workers to its weight.
var Queues = map[string]int{Critical: 6, Default: 3, Low: 1}

// Policy says how a job is run.
type Policy struct {
	Queue string
	// Timeout limits one attempt.
	Timeout time.Duration
	// MaxAttempts limits the attempts that end in an error. An attempt that was lost with its worker does not count: losses have a limit of
	// their own, the same for all jobs.
	MaxAttempts int
	// Backoff is the pause after the first failed attempt. It doubles with each further attempt.
	Backoff time.Duration
}

// Policies holds the policy of every job. The program refuses to start with a job that has no policy.
var Policies = map[string]Policy{
	Ingest: {Queue: Default, Timeout: 10 * time.Minute, MaxAttempts: 8, Backoff: 20 * time.Second},
	Signal: {Queue: Critical, Timeout: 2 * time.Minute, MaxAttempts: 8, Backoff: 5 * time.Second},
	// A failed forecast is retried until the next day's run: new figures may be published on any morning.
	Forecast: {Queue: Default, Timeout: 5 * time.Minute, MaxAttempts: 100, Backoff: 10 * time.Second},
	// The first run of a large universe takes long. Some publishers have the closing prices an hour or two after the exchange: the attempts
	// cover the time from 16:20 to 19:00.
	Equities: {Queue: Default, Timeout: 30 * time.Minute, MaxAttempts: 12, Backoff: 20 * time.Second},
	// A run with slots ends after seconds; reading an archive may take long.
	Backfill: {Queue: Low, Timeout: 30 * time.Minute, MaxAttempts: 8, Backoff: 5 * time.Second},
	// A failed pick is retried until the end of the day. Waiting for prices is not a failure.
	Pick:     {Queue: Timely, Timeout: 10 * time.Minute, MaxAttempts: 1000, Backoff: 5 * time.Second},
	Announce: {Queue: Timely, Timeout: 2 * time.Minute, MaxAttempts: 100, Backoff: 5 * time.Second},
	Publish:  {Queue: Default, Timeout: 10 * time.Minute, MaxAttempts: 500, Backoff: 5 * time.Second},
	// The migrations repeat the queue and the attempts of the next three jobs, and of Webhook.
	X402:      {Queue: Payments, Timeout: time.Minute, MaxAttempts: 8, Backoff: 5 * time.Second},
	Claims:    {Queue: Payments, Timeout: time.Minute, MaxAttempts: 8, Backoff: time.Second},
	Processor: {Queue: Payments, Timeout: 2 * time.Minute, MaxAttempts: 12, Backoff: 5 * time.Second},
	Ledger:    {Queue: Default, Timeout: 10 * time.Minute, MaxAttempts: 8, Backoff: 10 * time.Second},
	Attest:    {Queue: Timely, Timeout: 5 * time.Minute, MaxAttempts: 8, Backoff: 10 * time.Second},
	// A webhook that fails is not a failed run: its rule says when it is tried again.
	Webhook:  {Queue: Webhooks, Timeout: 2 * time.Minute, MaxAttempts: 100, Backoff: 5 * time.Second},
	Accounts: {Queue: Low, Timeout: 10 * time.Minute, MaxAttempts: 8, Backoff: time.Minute},
	// The first run may have the bytes of years to move. The next attempt continues where the last one ended.
	Archive: {Queue: Low, Timeout: 30 * time.Minute, MaxAttempts: 20, Backoff: time.Minute},
}

// Fence identifies one attempt of one run. Every commit of a handler checks it. So an attempt that was given up (its worker is frozen, was
// killed or has lost its connection) can no longer change anything.
type Fence struct {
	RunID   int64 `json:"run_id"`
	Attempt int   `json:"attempt"`
}

// Task is one attempt of a job for a subject at a logical time, as the queue carries it.
type Task struct {
	Fence
	Job     string `json:"job"`
	Subject string `json:"subject"`
	// Slot is the logical time of the run, in UTC.
	Slot  time.Time `json:"slot"`
	Queue string    `json:"-"`
	// Failures is the number of earlier attempts that ended in an error.
	Failures int    `json:"failures,omitempty"`
	Params   Params `json:"params,omitzero"`
	// Trace is the trace context of the run (W3C Trace Context), empty without a trace.
	Trace string `json:"trace,omitempty"`
}

// Params are the parameters of a run in addition to its subject and slot. Scheduled runs have the zero value.
type Params struct {
	// Window limits the observation times that an ingest requests. Nil means the whole history.
	Window *Window `json:"window,omitempty"`
}

// Window is a range of observation times, both ends included. A zero end is open.
type Window struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// ID returns the queue's id of the task. It is derived from the task, so that all schedulers enqueue the same task only once. The form is
// "ingest:eia@<slot>", with "#n" for the attempts after the first.
func (t Task) ID() string {
	id := fmt.Sprintf("%s:%s@%s", t.Job, t.Subject, t.Slot.UTC().Format(time.RFC3339Nano))
	if t.Attempt > 1 {
		id += fmt.Sprintf("#%d", t.Attempt)
	}
	return id
}

// Schedule says when a job with a subject is due, and which of its slots was recorded last.
type Schedule struct {
	Job, Subject string
	// Cron is a five-field expression in the time zone Zone (IANA name).
	Cron, Zone string
	// CatchUp is "skip", "latest" or "all": the treatment of slots that were missed while no scheduler was running.
	CatchUp string
	// Paused makes the scheduler record the slots as skipped.
	Paused bool
	// LastSlot is the newest recorded slot, nil before the first.
	LastSlot *time.Time
}

// Slot is a slot whose time has come.
type Slot struct {
	At time.Time
	// Trigger is TriggerCron for a slot on time and TriggerCatchUp for a missed slot.
	Trigger string
	// Skip is the reason for skipping the slot, empty for a slot that runs.
	Skip string
	// Trace is the trace context in which the slot's work begins, empty without a trace.
	Trace string
}

// The triggers of a run.
const (
	TriggerCron     = "cron"
	TriggerCatchUp  = "catchup"
	TriggerData     = "data"
	TriggerManual   = "manual"
	TriggerBackfill = "backfill"
)
