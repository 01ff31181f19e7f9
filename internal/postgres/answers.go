package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// SilentError means that a server accepts connections, and does not answer: it is frozen, or its machine is.
type SilentError struct {
	// Setting names the server. Address is its host and port.
	Setting, Address string
	For              time.Duration
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("%s: Postgres at %s gave no answer for %s", e.Setting, e.Address, e.For)
}

// silent returns the error for a server that was silent for a time.
func silent(cfg *pgx.ConnConfig, setting string, lasts time.Duration) *SilentError {
	return &SilentError{Setting: setting, Address: net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))), For: lasts}
}

// WithAnswerTimeout is for commands, which a person waits for. Open then fails with a *SilentError after d without an answer. Afterwards lost
// is called once if the server answers nothing for d, not even on a new connection; the caller then ends the contexts of its statements. A
// long statement of a server that still answers is left alone. Zero means no timeout.
func WithAnswerTimeout(d time.Duration, lost func(error)) Option {
	return func(o *options) { o.answers, o.lost = d, lost }
}

// Watch calls lost once with a *SilentError if the server at url answers nothing for d. setting is the name of the setting with the URL. The
// returned function ends the watch. Zero means no watch, and so does an invalid URL.
func Watch(url, setting string, d time.Duration, lost func(error)) (stop func()) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil || d <= 0 {
		return func() {}
	}
	return watch(cfg, setting, d, lost)
}

// watch asks a server on a separate connection, because the caller's connections may be busy. A third of the time passes between two
// questions, so that a short command asks none, and the rest is for the answer. Other errors than silence are for those whose statements
// meet them.
func watch(cfg *pgx.ConnConfig, setting string, d time.Duration, lost func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	asking.Go(func() {
		tick := time.NewTicker(d / 3)
		defer tick.Stop()
		var c *pgx.Conn
		defer func() { hangUp(c) }()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			timed, end := context.WithTimeout(ctx, d-d/3)
			var err error
			if c == nil || c.IsClosed() {
				c, err = pgx.ConnectConfig(timed, cfg)
			}
			if err == nil {
				err = c.Ping(timed)
			}
			late := timed.Err()
			end()
			if err != nil && ctx.Err() == nil && errors.Is(late, context.DeadlineExceeded) {
				lost(silent(cfg, setting, d))
				return
			}
		}
	})
	return func() { cancel(); asking.Wait() }
}

// hangUp closes a connection without waiting for a server that may be silent.
func hangUp(c *pgx.Conn) {
	if c == nil {
		return
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Close(ended)
}
