package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// PushStore keeps the changes to deliver, the rules that select them, and the deliveries.
//
// It reads kept_answers, keys, push_deliveries, push_head, push_match, push_rules, pushes, runs, snapshots. It writes kept_answers,
// push_deliveries, push_match, push_rules, runs.
type PushStore struct{ *connections }

// Push is a row of the outbox: something became known. A trigger writes it in the transaction that makes the thing known.
type Push struct {
	// ID is the cursor. It grows in the order of commits, so a reader that continues after the last ID misses nothing.
	ID int64
	// Topic is "signal:" and an id, "pick", "event" or "forecast". Kind says what happened, Subject names the signal or the company.
	Topic, Kind, Subject string
	// Data is an object. Its members depend on the topic.
	Data json.RawMessage
	At   time.Time
}

const pushColumns = `id, topic, kind, subject, data, at`

// ofTopicsSQL selects the topics of a reader: all if the list is empty. "signal" means all signals.
const ofTopicsSQL = `(cardinality(@topics::text[]) = 0 or topic = any(@topics::text[]) or 'signal' = any(@topics::text[]) and topic like 'signal:%')`

// Pushes returns rows after a cursor, in ascending order, at most limit. topics restricts them; empty means all topics.
func (db PushStore) Pushes(ctx context.Context, after int64, topics []string, limit int) ([]Push, error) {
	return db.pushes(ctx, `select `+pushColumns+` from pushes where id > @after and `+ofTopicsSQL+` order by id limit @limit`, // primary key
		pgx.NamedArgs{"after": after, "topics": nonNil(topics), "limit": limit})
}

// NewestPushes returns the newest rows, the newest first.
func (db PushStore) NewestPushes(ctx context.Context, topics []string, limit int) ([]Push, error) {
	return db.pushes(ctx, `select `+pushColumns+` from pushes where `+ofTopicsSQL+` order by id desc limit @limit`, // primary key
		pgx.NamedArgs{"topics": nonNil(topics), "limit": limit})
}

func (db PushStore) pushes(ctx context.Context, sql string, args pgx.NamedArgs) ([]Push, error) {
	rows, err := db.reads.Query(ctx, sql, args)
	list, err := collect[Push](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the pushes: %w", asUnavailable(err))
	}
	for i := range list {
		list[i].At = list[i].At.UTC()
	}
	return list, nil
}

// PushRange returns the oldest stored cursor and the newest that was given. oldest is newest + 1 if none is stored.
func (db PushStore) PushRange(ctx context.Context) (oldest, newest int64, err error) {
	err = db.reads.QueryRow(ctx, `select coalesce((select min(id) from pushes), last + 1), last from push_head`).Scan(&oldest, &newest)
	if err != nil {
		return 0, 0, fmt.Errorf("read the range of pushes: %w", asUnavailable(err))
	}
	return oldest, newest, nil
}
