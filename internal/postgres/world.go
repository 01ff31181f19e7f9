package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// WorldStore keeps the world of the database and its clock.
//
// It reads world. It writes world.
type WorldStore struct{ *connections }

// World is the database's world, with its clock.
type World struct {
	Name string
	// ClockAt is the world's time, or nil if it follows the wall clock.
	ClockAt   *time.Time
	CreatedAt time.Time
}

// EnsureWorld assigns the database to a world with its clock at clockAt (nil: the wall clock), unless it already has one. It returns the
// database's world. If that has another name, the error names both.
func (db WorldStore) EnsureWorld(ctx context.Context, name string, clockAt *time.Time) (World, error) {
	// A second run changes nothing.
	err := db.pool.again(ctx, always, func() error {
		_, err := db.pool.Pool.Exec(ctx, `
			insert into world (name, clock_at) values (@name, @clock_at) on conflict do nothing`,
			pgx.NamedArgs{"name": name, "clock_at": clockAt})
		return err
	})
	if err != nil {
		return World{}, fmt.Errorf("create the world %s: %w", name, err)
	}
	w, err := db.World(ctx)
	if err != nil {
		return World{}, err
	}
	return w, sameWorld(db.setting, w.Name, name)
}

// WorldError means that a database belongs to another world than WORLD asks for.
type WorldError struct {
	// Setting holds the URL of the database.
	Setting   string
	Has, Want string
}

func (e *WorldError) Error() string {
	return fmt.Sprintf("%s names a database of the world %s, WORLD asks for %s: give each world its own database", e.Setting, e.Has, e.Want)
}

// sameWorld returns a WorldError if has is not want.
func sameWorld(setting, has, want string) error {
	if has != want {
		return &WorldError{Setting: setting, Has: has, Want: want}
	}
	return nil
}

// CheckWorld returns an error if the database belongs to another world. A database without a world is valid.
func (db WorldStore) CheckWorld(ctx context.Context, name string) error {
	w, err := db.World(ctx)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return sameWorld(db.setting, w.Name, name)
}

// World returns the world of the database, or ErrNotFound if none was set up yet.
func (db WorldStore) World(ctx context.Context) (World, error) {
	var w World
	err := db.reads.QueryRow(ctx, `select name, clock_at, created_at from world`).Scan(&w.Name, &w.ClockAt, &w.CreatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return World{}, fmt.Errorf("the world of the database: %w", ErrNotFound)
	}
	if err != nil {
		return World{}, fmt.Errorf("read the world: %w", err)
	}
	return w, nil
}

// Now returns the time of the world, in UTC. The rules of the record use this time.
func (db WorldStore) Now(ctx context.Context) (now time.Time, err error) {
	if err := db.reads.QueryRow(ctx, `select world_now()`).Scan(&now); err != nil {
		return now, fmt.Errorf("ask for the world's time: %w", err)
	}
	return now.UTC(), nil
}

// SetClock sets the time of a world that does not follow the wall clock. nil makes it follow the wall clock from now on. The database
// refuses this for a live world, and for a sandbox whose time would run backwards.
func (db WorldStore) SetClock(ctx context.Context, at *time.Time) error {
	_, err := db.pool.Exec(ctx, `update world set clock_at = @at`, pgx.NamedArgs{"at": at})
	if err != nil {
		return fmt.Errorf("set the world's clock: %w", err)
	}
	return nil
}

// AdvanceClock advances the clock of a sandbox to an instant. It changes nothing if the clock is already there or follows the wall clock.
// The process that steps the clock may have lost its connection, and another process may have taken over.
func (db WorldStore) AdvanceClock(ctx context.Context, to time.Time) error {
	_, err := db.pool.Exec(ctx, `update world set clock_at = @to where clock_at < @to`, pgx.NamedArgs{"to": to})
	if err != nil {
		return fmt.Errorf("advance the world's clock: %w", err)
	}
	return nil
}

// ClockBehind reports whether the database belongs to a sandbox that is replaying its past at high speed.
func (db WorldStore) ClockBehind(ctx context.Context) (past bool, err error) {
	err = db.reads.QueryRow(ctx, `select exists (select from world where name = 'sandbox' and clock_at is not null)`).Scan(&past)
	if err != nil {
		return false, fmt.Errorf("read the world: %w", err)
	}
	return past, nil
}
