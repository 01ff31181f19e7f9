package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

// LogStore keeps the transparency logs: leaves, tiles, checkpoints and cosignatures.
//
// It reads announcements, corrections, datasets, fetches, forecast_grades, forecasts, gaps, log_aside, log_checkpoints, log_cosignatures,
// log_entries, log_heads, log_pending, log_tiles, log_timestamps, methods, pick_seals, picks, world. It writes log_aside, log_checkpoints,
// log_cosignatures, log_entries, log_heads, log_pending, log_tiles, log_timestamps.
type LogStore struct{ *connections }

// The two transparency logs.
const (
	LogRecord  = "record"
	LogSources = "sources"
)

// LogHead is the current state of a transparency log.
type LogHead struct {
	Log, Origin, VKey string
	// Entries is the number of numbered leaves. Size is the number of leaves in the newest checkpoint.
	Entries, Size int64
	Root          tlog.Hash
	// Stopped is why the log signs nothing, empty while it runs.
	Stopped string
	// Waits is why the last round of the sequencer failed, empty if it did not.
	Waits     string
	Witnesses []LogWitness
	// Policy is the text of the operator's policy, empty without one.
	Policy string
	// PicksEarly reports whether readers who pay see a sealed pick before its announcement.
	PicksEarly bool
	BeganAt    time.Time
}

// LogWitness is a witness in the operator's policy.
type LogWitness struct {
	Name string `json:"name"`
	VKey string `json:"vkey"`
}

const logHeadColumns = `log, origin, vkey, entries, size, root, coalesce(stopped, ''), coalesce(waits, ''), witnesses, policy, picks_early, began_at`

func scanLogHead(r pgx.CollectableRow) (h LogHead, err error) {
	var root, witnesses []byte
	if err := r.Scan(&h.Log, &h.Origin, &h.VKey, &h.Entries, &h.Size, &root, &h.Stopped, &h.Waits, &witnesses, &h.Policy, &h.PicksEarly, &h.BeganAt); err != nil {
		return h, err
	}
	h.Root = tlog.Hash(root)
	return h, json.Unmarshal(witnesses, &h.Witnesses)
}

// LogHeads returns the logs that were started, by name.
func (db LogStore) LogHeads(ctx context.Context) ([]LogHead, error) {
	rows, err := db.reads.Query(ctx, `select `+logHeadColumns+` from log_heads order by log`) // two rows
	if err != nil {
		return nil, fmt.Errorf("read the logs: %w", asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, scanLogHead)
	if err != nil {
		return nil, fmt.Errorf("read the logs: %w", asUnavailable(err))
	}
	return list, nil
}

// LogStart is the configuration that a log starts or continues with.
type LogStart struct {
	Log, Origin, VKey string
	// OldVKeys are older keys whose private half the operator still has: a change of the key is announced under them.
	OldVKeys    []string
	Environment string
	Witnesses   []LogWitness
	// Policy is the text of the operator's policy, empty without one.
	Policy string
	// PicksEarly lets readers who pay see a sealed pick before its announcement.
	PicksEarly bool
}

// keyOverlap is how long a log signs with both the old and the new key.
const keyOverlap = 90 * 24 * time.Hour

// BeginLog creates the log if it does not exist. Its entry 0 states the head of the chain, and all earlier records become leaves. An
// existing log continues; a new key gets a leaf. It returns an error if the origin differs, or if a new key comes without the old one.
func (db LogStore) BeginLog(ctx context.Context, s LogStart) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := beginLog(ctx, tx, s); err != nil {
			return err
		}
		witnesses, err := json.Marshal(append([]LogWitness{}, s.Witnesses...))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			update log_heads set witnesses = @witnesses, policy = @policy, picks_early = @early
			where log = @log and (witnesses, policy, picks_early) is distinct from (@witnesses::jsonb, @policy, @early)`,
			pgx.NamedArgs{"log": s.Log, "witnesses": string(witnesses), "policy": s.Policy, "early": s.PicksEarly})
		return err
	})
	if err != nil {
		return fmt.Errorf("begin the log %s: %w", s.Log, err)
	}
	return nil
}

func beginLog(ctx context.Context, tx pgx.Tx, s LogStart) error {
	var begun bool
	if err := tx.QueryRow(ctx, `select exists (select from log_heads where log = @log)`, pgx.NamedArgs{"log": s.Log}).Scan(&begun); err != nil {
		return err
	}
	if !begun { // a transaction that adds a leaf now either comes before the import, or finds the log
		if _, err := tx.Exec(ctx, `select log_lock_begin()`); err != nil {
			return err
		}
		root := tlog.EmptyRoot()
		tag, err := tx.Exec(ctx, `
			insert into log_heads (log, origin, vkey, root, began_at) values (@log, @origin, @vkey, @root, world_now()) on conflict (log) do nothing`,
			pgx.NamedArgs{"log": s.Log, "origin": s.Origin, "vkey": s.VKey, "root": root[:]})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 1 {
			return logGenesis(ctx, tx, s)
		}
	}
	var origin, vkey string
	var now time.Time
	err := tx.QueryRow(ctx, `select origin, vkey, world_now() from log_heads where log = @log for update`, pgx.NamedArgs{"log": s.Log}).Scan(&origin, &vkey, &now)
	switch {
	case err != nil:
		return err
	case origin != s.Origin:
		return fmt.Errorf("its origin is %s and cannot change, and LOG_ORIGIN says %s", origin, s.Origin)
	case vkey == s.VKey:
		return nil
	}
	for _, old := range s.OldVKeys {
		if old == vkey {
			leaf, err := tlog.FormatLeaf(tlog.KindKey, vkey, s.VKey, tlog.FormatTime(now.Add(keyOverlap)), tlog.FormatTime(now))
			if err != nil {
				return err
			}
			// A change is named by its number: a key may come back. The head is locked.
			_, err = tx.Exec(ctx, `
				with changes as (
					select (select count(*) from log_entries where log = @log and key ^@ 'key:')
						+ (select count(*) from log_pending where log = @log and key ^@ 'key:') as n
				), added as (select log_append(@log, 'key:' || n + 1, @leaf) from changes)
				update log_heads set vkey = @vkey from added where log = @log`,
				pgx.NamedArgs{"log": s.Log, "vkey": s.VKey, "leaf": string(leaf)})
			return err
		}
	}
	return errors.New("LOG_KEY_FILE has a new key and lacks the old one, which must sign with it for 90 days")
}

func logGenesis(ctx context.Context, tx pgx.Tx, s LogStart) error {
	var length int64
	head := chain.Genesis
	var now time.Time
	var sealing string // a pick of today may be there, and has no seal
	err := tx.QueryRow(ctx, `
		select coalesce(max(seq), 0), coalesce((select hash from picks where seq = (select max(seq) from announcements)), @genesis), world_now(),
			(record_today()::date + 1)::text
		from announcements`, pgx.NamedArgs{"genesis": chain.Genesis}).Scan(&length, &head, &now, &sealing)
	if err != nil {
		return err
	}
	if s.Log != LogRecord {
		sealing = "none"
	}
	at := tlog.FormatTime(now)
	leaf, err := tlog.FormatLeaf(tlog.KindGenesis, s.Origin, s.Environment, strconv.FormatInt(length, 10), head, "none", sealing, at)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `insert into log_entries (log, idx, key, leaf) values (@log, 0, 'genesis', @leaf)`, pgx.NamedArgs{"log": s.Log, "leaf": leaf})
	if err != nil {
		return err
	}
	if _, err = tx.Exec(ctx, `update log_heads set entries = 1 where log = @log`, pgx.NamedArgs{"log": s.Log}); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `select log_import(@log)`, pgx.NamedArgs{"log": s.Log})
	return err
}
