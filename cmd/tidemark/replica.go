package main

import (
	"context"
	"log/slog"
	"time"

	"tidemark/api/view"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
)

// historyStore returns the API's store of signals: db, or db with the replica of the settings. The returned function closes the connections
// to the replica.
func (p *program) historyStore(ctx context.Context, db *postgres.DB, log *slog.Logger) (view.Store, func(), error) {
	if p.settings.ReplicaURL == "" {
		return db, func() {}, nil
	}
	r, err := postgres.Replicate(ctx, db, p.settings.ReplicaURL, postgres.RoleAPI, log, p.connectionOptions(postgres.RoleAPI)...)
	if err != nil {
		return nil, nil, usageError{err}
	}
	return r, r.CloseReplica, nil
}

// replicaSlack is the maximum lag of a replica before the doctor reports it.
const replicaSlack = time.Minute

// checkReplica reports the lag of the replica, and whether the server of DATABASE_URL is itself a replica.
func (p *program) checkReplica(ctx context.Context, db *postgres.DB, c postgres.Checkup) []ops.Finding {
	if c.Replica {
		return ops.Result(ops.Bad, "set DATABASE_URL to the primary, a replica belongs in DATABASE_REPLICA_URL", "DATABASE_URL is a replica: nothing can be written")
	}
	if p.settings.ReplicaURL == "" {
		return ops.Result(ops.Skipped, "", "DATABASE_REPLICA_URL is not set: the primary answers everything")
	}
	l, err := db.ReplicaLag(ctx, p.settings.ReplicaURL, postgres.RoleAPI)
	switch {
	case err != nil:
		return ops.Result(ops.Warning, "check DATABASE_REPLICA_URL, start the replica; the primary does its work", "%v", err)
	case !l.Follows:
		return ops.Result(ops.Bad, "set DATABASE_REPLICA_URL to a streaming replica of DATABASE_URL", "the server of DATABASE_REPLICA_URL follows no other")
	case len(l.Login.Powers) > 0:
		return ops.Result(ops.Bad, "set DATABASE_REPLICA_URL to a URL with the user tidemark_api", "the API does not ask the replica: %v", &l.Login)
	case l.Since > replicaSlack:
		return ops.Result(ops.Warning, "look at the replica's log and at pg_stat_replication; the primary does its work", "%d bytes behind, nothing replayed for %s",
			l.Bytes, l.Since.Round(time.Second))
	}
	return ops.Result(ops.Healthy, "", "%d bytes behind", l.Bytes)
}
