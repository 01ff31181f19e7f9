package contention

import "strings"

// Differing are the tables that are not compared, and why.
var Differing = map[string]string{
	"alerts":         "operators are told what goes wrong, when it goes wrong",
	"alert_messages": "as alerts",
	"hosts":          "when an upstream may be asked next, by the wall clock",
	"fetches":        "each attempt asks again; what it brought is compared in the tables that it fills",
	"loads":          "each attempt that has asked adds one, with the wall clock's time",
	"load_fetches":   "as loads", "quarantined_fetches": "as fetches",
	"run_attempts":   "the log of attempts",
	"ledger_state":   "when the witnesses were asked, by the wall clock; tidemark verify looks at what they hold",
	"attester_state": "as ledger_state",
	"attestations":   "as ledger_state",
	"kept_answers":   "answers are sealed with what the caller draws by chance; that none is delivered twice is a check of its own",
	"key_secrets":    "drawn by chance",
	"log_pending":    "a leaf for each answer, as fetches, in the order in which roles come; that none is lost or doubled is a test of internal/postgres",
	"pushes":         "a change is pushed against the snapshot before it, and these come in the order in which roles come; what is pushed is a test of api",
	"push_head":      "as pushes",
	"datasets":       "at most one in a minute of the wall clock",
	"dataset_files":  "as datasets",
	"x402_payments":  "how far a payment by request was when it failed decides what its payer does next; test/payments kills it between any two steps",
	"x402_ledger":    "as x402_payments", "x402_named": "as x402_payments", "x402_sightings": "as x402_payments",
	"schema_version": "the migrations'",
}

// differing are the columns that are not compared, each with the reason. A name with a table before it applies to that table only.
var differing = map[string]string{
	// Numbers in the order in which roles came, which nothing decides.
	"id":     "numbers are given in the order in which roles come",
	"run_id": "as id", "backfill_id": "as id", "quarantine_id": "as id",
	// The wall clock, in a world that has another.
	"created_at": "the wall clock's time", "recorded_at": "the wall clock's time", "computed_at": "the wall clock's time", "updated_at": "the wall clock's time",
	"snapshots.served_at": "a time of attempts", "snapshots.loads_seen": "as loads",
	"ledger.at": "the wall clock's time", "usage.last_at": "the wall clock's time", "usage.day": "the wall clock's day", "expires_at": "the wall clock's time",
	"backfills.planned_at": "the wall clock's time", "backfills.applied_at": "the wall clock's time", "backfills.seen_at": "the wall clock's time",
	"backfills.working_since": "the wall clock's time", "finished_at": "the wall clock's time",
	// The log of attempts.
	"runs.attempt": "there is one more after a failure", "runs.failures": "as attempt", "runs.losses": "as attempt", "runs.worker": "whoever came first",
	"runs.next_try_at": "a time of attempts", "runs.queued_at": "a time of attempts", "runs.started_at": "a time of attempts",
	"runs.heartbeat_at": "a time of attempts", "runs.lasting": "says of the last error whether it passes",
	"runs.findings":         "as rows_added: what is there already is not found fault with again",
	"runs.rows_added":       "an attempt that is begun again finds the rows of the one before it",
	"signal_states.by":      "the number of the run",
	"economic_events.place": "the place in the order in which events were recorded",
	// The chains of the forecasts link what several roles record, in the order in which they come.
	"forecasts.seq": "as id", "forecasts.previous_hash": "as id", "forecasts.hash": "as id", "forecasts.issued_at": "a time of attempts",
	"forecast_grades.seq": "as id", "forecast_grades.previous_hash": "as id", "forecast_grades.hash": "as id", "forecast_grades.graded_at": "a time of attempts",
	// The witnesses', by the wall clock.
	"ledger_entries.correction": "as id: a number that was drawn and rolled back is not drawn again",
	"ledger_entries.commit_id":  "a commit has its time in it", "ledger_entries.pushed_at": "the wall clock's time",
	// Payments, by the wall clock. Blocks, transactions and answers have its time in them.
	"payment_claims.asked_at": "the wall clock's time", "payment_claims.answered_at": "the wall clock's time",
	"payment_claims.looked_at":     "the wall clock's time",
	"payment_transfers.block_hash": "a block has its time in it", "payment_transfers.block_time": "the wall clock's time",
	"payment_transfers.confirmations": "how many blocks had come", "payment_transfers.granted_at": "the wall clock's time",
	"payment_quotes.amount": "drawn by chance", "payment_quotes.held": "the wall clock's time",
	"processor_events.received_at": "the wall clock's time", "processor_events.done_at": "the wall clock's time",
	"x402_terms.checked_at": "the wall clock's time",
	// Drawn by chance.
	"keys.public_id":  "drawn by chance",
	"pick_seals.salt": "drawn by chance", "pick_seals.commitment": "of the salt", "pick_seals.idx": "as id",
}

// kept are columns that are compared although their name is in differing.
func kept(table, column string) bool {
	switch table + "." + column {
	case "economic_events.id", "portfolio_events.id", "news.id", "forecasts.id", "forecast_grades.id":
		return true
	}
	return false
}

// leftOut are rows that are not compared.
var leftOut = map[string]string{
	// In how many runs a backfill does its slots depends on how long one of them takes. Its slots are compared. A data set is published at
	// most once in a minute of the wall clock; the run of a day that comes sooner is skipped. How often a run of payments looks at the
	// chain is a matter of time. Its results are compared in the tables of payments.
	"runs": `where job <> 'backfill' and (job, subject) <> ('publish', 'dataset') and queue <> 'payments'`,
	// An operator who got no answer plans again, and applies the second plan. The first one does nothing.
	"keys": "where " + inUse + "t.id)", "ledger": "where " + inUse + "t.key_id)",
	"backfills": `where status <> 'planned'`, "backfill_slots": appliedOnly, "backfill_fetches": appliedOnly,
}

// A client whose registration was not answered registers again, and uses the second key. The first one keeps its trial.
const inUse = `exists (select from ledger l where l.kind = 'credit' and l.key_id = `

const appliedOnly = `where exists (select from backfills b where b.id = t.backfill_id and b.status <> 'planned')`

// seenThrough are columns that name a row by its number, as what that row is.
var seenThrough = map[string]string{
	"runs.reason":              `regexp_replace(reason, '^backfill [0-9]+', 'backfill n')`,
	"ledger.ref":               `regexp_replace(ref, '#[0-9]+$', '#n')`,
	"runs.error":               `regexp_replace(error, 'quarantine (show )?[0-9]+', 'quarantine n', 'g')`,
	"processor_events.outcome": `regexp_replace(outcome, 'key_[0-9a-z]+', 'key_n')`,
	"signal_states.cause":      `regexp_replace(cause, '[0-9]+', 'n')`,
}

func skipped(table, column string) bool {
	if kept(table, column) {
		return false
	}
	if _, ok := differing[table+"."+column]; ok {
		return true
	}
	_, ok := differing[column]
	return ok
}

// expression is a column as it is compared.
func expression(table, column string) string {
	if as, ok := seenThrough[table+"."+column]; ok {
		return as
	}
	if strings.HasSuffix(column, "fetch_id") {
		return "(select f.url from fetches f where f.id = t." + column + ")"
	}
	if column == "key_id" {
		return "(select k.name from keys k where k.id = t.key_id)"
	}
	return "t." + column
}
