package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Checkup is the result of a check of the server.
type Checkup struct {
	Version string
	Schema  int64
	// Ahead is how far the server's clock is ahead of the given clock.
	Ahead time.Duration
	// Writable lists tables that the API's role could change directly. Unguarded lists append-only tables without a working guard. Both are
	// empty if all is as the migrations made it.
	Writable, Unguarded []string
	// Filling lists what the API's role could fill the disk with, by the statements that revoke the right.
	Filling []string
	// Size is the size of the database in bytes. Connections are the server's connections in use, and MaxConnections is its limit.
	Size                        int64
	Connections, MaxConnections int
	// ReadOnly means that the server accepts no changes. A Replica never does.
	ReadOnly, Replica bool
}

// pg_stat_activity shows a login only its own sessions, so the connections are counted from pg_stat_database, over all databases. A table
// is append-only if a trigger of that name guards it. The guard must exist twice, for rows and for truncate.
const checkupSQL = `
	select current_setting('server_version') as version, (select version_id from schema_version) as schema,
		clock_timestamp() as clock, pg_database_size(current_database()) as size,
		(select sum(numbackends) from pg_stat_database)::int as connections,
		current_setting('max_connections')::int as max_connections, current_setting('transaction_read_only')::boolean as read_only, pg_is_in_recovery() as replica,
		array(
			select c.relname::text from pg_class c
			where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
				and (has_table_privilege('tidemark_api', c.oid, 'insert, update, delete, truncate')
					or has_any_column_privilege('tidemark_api', c.oid, 'insert, update'))
			order by 1) as writable,
		array(
			select t.name from unnest(@tables::text[]) as t (name)
			where 2 <> (select count(*) from pg_trigger g
				where g.tgrelid = to_regclass('public.' || t.name) and g.tgname in ('append_only', 'append_only_truncate') and g.tgenabled in ('O', 'A'))
			order by 1) as unguarded,
		array(
			select format('revoke temporary on database %I from public', current_database())
			where has_database_privilege('tidemark_api', current_database(), 'temporary')
			union all
			select format('revoke execute on function %s from public', f)
			from unnest(array['lo_creat(integer)', 'lo_create(oid)', 'lo_from_bytea(oid, bytea)']::regprocedure[]) as f
			where has_function_privilege('tidemark_api', f, 'execute')) as filling`

// AppendOnly lists the tables whose rows are never deleted. The guards of most tables also reject updates.
var AppendOnly = []string{
	"actions", "announcements", "arrivals", "backups", "bars", "companies", "corrections", "digests", "economic_events", "estimates", "facts", "fetches", "filings",
	"forecast_grades", "forecasts", "gaps",
	"ledger", "listings", "load_fetches", "loads", "log_entries", "log_timestamps", "methods", "news", "observations", "operator_actions", "operator_outcomes", "payment_claims", "payment_transfers", "picks", "plan_changes", "portfolio_events", "portfolio_snapshots", "quarantine_decisions",
	"quarantined_fetches", "research", "risk_factors", "schedule_changes", "second_closes", "signal_states", "top_ups", "universe_days", "x402_ledger",
}

// Checkup checks the server: its clock against now, the grants and guards of the migrations, its size and its connections.
func (db OperatorStore) Checkup(ctx context.Context, now func() time.Time) (c Checkup, err error) {
	var clock time.Time
	before := now()
	err = db.reads.QueryRow(ctx, checkupSQL, pgx.NamedArgs{"tables": AppendOnly}).Scan(
		&c.Version, &c.Schema, &clock, &c.Size, &c.Connections, &c.MaxConnections, &c.ReadOnly, &c.Replica, &c.Writable, &c.Unguarded, &c.Filling)
	if err != nil {
		return c, fmt.Errorf("look at the database: %w", asUnavailable(err))
	}
	// The server read its clock between the two calls of now.
	after := now()
	switch {
	case clock.Before(before):
		c.Ahead = clock.Sub(before)
	case clock.After(after):
		c.Ahead = clock.Sub(after)
	}
	return c, nil
}
