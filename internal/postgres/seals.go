package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Seal is the commitment to a pick that a signed size of the log holds.
type Seal struct {
	// Date is the pick's day. Method is the method that made it, and its version.
	Date, Commitment, Method string
	// RevealBy is the end of the time for the reveal. SealedAt and RevealedAt are in the world's time; RevealedAt is nil before the
	// announcement.
	RevealBy, SealedAt time.Time
	RevealedAt         *time.Time
	// Index and RevealIndex are the numbers of the two leaves. RevealIndex is nil until a signed size holds the reveal.
	Index       int64
	RevealIndex *int64
	// WitnessedAt is when the quorum of the operator's policy had cosigned the seal, by the wall clock. Nil before.
	WitnessedAt *time.Time
}

// Seals returns the seals of the picks by their numbers in the log.
func (db RecordStore) Seals(ctx context.Context) ([]Seal, error) {
	rows, err := db.reads.Query(ctx, `
		select date, commitment, method, reveal_by, sealed_at, revealed_at, idx as index, reveal_idx as reveal_index, witnessed_at
		from sealed_picks order by idx`)
	list, err := collect[Seal](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the seals: %w", asUnavailable(err))
	}
	return list, nil
}

// EarlyPick is a pick that waits for its announcement, with the opening of its seal.
type EarlyPick struct {
	Ticker, Price, Date, PreviousHash, Hash                   string
	Name, Exchange, Sector, Region, Country, Currency, Origin string
	AnnounceAt, SealedAt                                      time.Time
	// WitnessedAt is when the quorum of the operator's policy had cosigned the seal, by the wall clock.
	WitnessedAt time.Time
	// Index is the number of the seal's leaf. Salt is in hex, and Content what the chain hashes.
	Index                     int64 `db:"idx"`
	Commitment, Salt, Content string
}

// EarlyPick returns the pick that readers who pay may see now. It returns ErrNotFound if no pick waits, if the witnesses have not cosigned
// its seal, or if the workers' PICKS_EARLY does not allow it. The database decides, and the API's role sees no other pick.
func (db RecordStore) EarlyPick(ctx context.Context) (EarlyPick, error) {
	rows, err := db.reads.Query(ctx, `select * from early_pick()`)
	if err != nil {
		return EarlyPick{}, fmt.Errorf("read the early pick: %w", asUnavailable(err))
	}
	p, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[EarlyPick])
	if errors.Is(err, pgx.ErrNoRows) {
		return EarlyPick{}, ErrNotFound
	}
	if err != nil {
		return EarlyPick{}, fmt.Errorf("read the early pick: %w", asUnavailable(err))
	}
	return p, nil
}

// quorumWait is how long after its seal an announcement waits for the witnesses. Without them the pick is announced all the same.
const quorumWait = 5 * time.Minute

// heldBackSQL is a condition on picks p: the witnesses are asked about its seal, and have not answered yet.
const heldBackSQL = `exists (
	select from pick_seals s
	join log_heads h on h.log = 'record' and h.witnesses <> '[]' and h.stopped is null
	where s.seq = p.seq and s.sealed_at > @at::timestamptz - @wait::interval
		and not exists (select from log_checkpoints c where c.log = 'record' and c.size > s.idx and c.witnessed_at is not null))` // primary keys

// HeldBack reports whether a pick is due at an instant and waits for the witnesses of its seal.
func (db RecordStore) HeldBack(ctx context.Context, at time.Time) (held bool, err error) {
	err = db.reads.QueryRow(ctx, `
		select exists (
			select from picks p
			where p.announce_at <= @at and p.seq > (select coalesce(max(seq), 0) from announcements) and `+heldBackSQL+`)`,
		pgx.NamedArgs{"at": at, "wait": quorumWait}).Scan(&held)
	if err != nil {
		return false, fmt.Errorf("look for a pick that waits for witnesses: %w", asUnavailable(err))
	}
	return held, nil
}

// SealWaits reports whether a seal without a reveal waits for its witnesses: they are asked, and have not cosigned a size with it yet.
func (db RecordStore) SealWaits(ctx context.Context) (waits bool, err error) {
	err = db.reads.QueryRow(ctx, `
		select exists (
			select from pick_seals s
			join log_heads h on h.log = 'record' and h.witnesses <> '[]' and h.stopped is null
			where s.revealed_at is null
				and not exists (select from log_checkpoints c where c.log = 'record' and c.size > s.idx and c.witnessed_at is not null))`).Scan(&waits)
	if err != nil {
		return false, fmt.Errorf("look for a seal that waits for witnesses: %w", asUnavailable(err))
	}
	return waits, nil
}

// Method is a version of a method that ran on history.
type Method struct {
	// Name is the method's, such as picks or crack-spread-321. Status is tried, adopted or dropped.
	Name, Version, Status string
	// SHA256 is the hash of the version's code and parameters.
	SHA256 string
	// Note is a line that says what it is.
	Note string
	// At and LogIndex are set by the database: when it was recorded, in the world's time, and the number of its leaf in a signed size.
	At       time.Time
	LogIndex *int64
}

// The states of a version of a method.
const (
	MethodTried   = "tried"
	MethodAdopted = "adopted"
	MethodDropped = "dropped"
)

// knownMethodSQL reports without a lock whether a version has its state. adopted is the version that was adopted last. A version that was
// adopted once counts as tried.
const knownMethodSQL = `
	select case when @status = 'adopted'
		then coalesce((select (version, sha256) = (@version, @sha256) from methods where name = @name and status = 'adopted' order by id desc limit 1), false)
		else exists (select from methods where name = @name and version = @version and sha256 = @sha256 and status in (@status, 'adopted')) end`

// RecordMethod records a version of a method. Call it before a result of that version is shown: the row is a leaf of the log. earlier are
// the versions that came before it. The same transaction records them if they are missing. RecordMethod reports false if the version has
// that state already, so it can be called at each start.
func (db RecordStore) RecordMethod(ctx context.Context, m Method, earlier ...Method) (added bool, err error) {
	known := false
	if err := db.reads.QueryRow(ctx, knownMethodSQL, m.args()).Scan(&known); err != nil {
		return false, fmt.Errorf("look for version %s of the method %s: %w", m.Version, m.Name, asUnavailable(err))
	}
	if known {
		return false, nil
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		for _, m := range append(slices.Clone(earlier), m) {
			if err := tx.QueryRow(ctx, `select record_method(@name, @version, @status, @sha256, @note)`, m.args()).Scan(&added); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("record version %s of the method %s: %w", m.Version, m.Name, refused(err))
	}
	return added, nil
}

func (m Method) args() pgx.NamedArgs {
	return pgx.NamedArgs{"name": m.Name, "version": m.Version, "status": m.Status, "sha256": m.SHA256, "note": m.Note}
}

// MethodVersions returns how many versions of a method's code the registry had at an instant, the present one counted in any case. A version of
// code is named by the first 12 digits of its SHA-256; other versions are single trials.
func (db RecordStore) MethodVersions(ctx context.Context, name, present string, at time.Time) (n int, err error) {
	err = db.reads.QueryRow(ctx, `
		select 1 + count(distinct sha256) from methods
		where name = @name and at <= @at and sha256 <> @present and version = left(sha256, 12)`,
		pgx.NamedArgs{"name": name, "present": present, "at": at}).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the versions of the method %s: %w", name, asUnavailable(err))
	}
	return n, nil
}

// Methods returns all recorded versions, the newest first.
func (db RecordStore) Methods(ctx context.Context) ([]Method, error) {
	rows, err := db.reads.Query(ctx, `
		select m.name, m.version, m.status, m.sha256, m.note, m.at, e.idx as log_index
		from methods m
		left join log_heads h on h.log = 'record'
		left join log_entries e on e.log = h.log and e.key = 'method:' || m.id and e.idx < h.size
		order by m.id desc`)
	list, err := collect[Method](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the methods: %w", asUnavailable(err))
	}
	return list, nil
}

// LoggedSeals calls add for each leaf of the record that says something about seals: the first one, the seals, the reveals, the picks, and
// the newest one. It reads the leaves from a number on, in order, and returns the number for the next call.
func (db RecordStore) LoggedSeals(ctx context.Context, from int64, add func(index int64, leaf []byte)) (next int64, err error) {
	rows, err := db.reads.Query(ctx, `
		select h.size, e.idx, e.leaf
		from log_heads h left join log_entries e on e.log = h.log and e.idx >= @from and e.idx < h.size
			and (e.idx in (0, h.size - 1) or e.key ^@ 'seal:' or e.key ^@ 'reveal:' or e.key ^@ 'pick:')
		where h.log = 'record' order by e.idx`, pgx.NamedArgs{"from": from}) // primary key
	if err != nil {
		return from, fmt.Errorf("read the logged seals: %w", asUnavailable(err))
	}
	next = from
	var idx *int64
	var leaf []byte
	_, err = pgx.ForEachRow(rows, []any{&next, &idx, &leaf}, func() error {
		if idx != nil {
			add(*idx, leaf)
		}
		return nil
	})
	if err != nil {
		return from, fmt.Errorf("read the logged seals: %w", asUnavailable(err))
	}
	return next, nil
}
