package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tidemark/backfill"
	"tidemark/chain"
	"tidemark/internal/postgres"
)

// contendedReads are public requests, served from memory and from the database.
var contendedReads = []string{
	"/api/signals", "/api/signals/crack-spread-321", "/api/signals/crack-spread-321/history?limit=20", "/api/signals/lng-arbitrage/vintages",
	"/api/v1/verify/picks", "/", "/verify", "/picks", "/portfolio", "/events", "/signals/crack-spread-321", "/healthz", "/status",
}

// contendedWares are the paid endpoints that the clients of a contended world use.
var contendedWares = []string{"/api/v1/picks", "/api/v1/portfolio", "/api/v1/sectors", "/api/v1/stocks"}

// answered returns the response of an address. header holds names and values. The error is a broken connection, or the status of a failing server.
func answered(ctx context.Context, method, url, body, key, id string, header ...string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if id != "" {
		r.Header.Set("Idempotency-Key", id)
		r.Header.Set("X-Request-Id", id)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode >= 500 {
		err = fmt.Errorf("%s %s: status %d: %.200s", method, url, resp.StatusCode, b)
	}
	return resp.StatusCode, string(b), err
}

// again repeats f until it succeeds, like a client that repeats a request with the same Idempotency-Key.
func again(ctx context.Context, f func() error) error {
	deadline := time.Now().Add(time.Minute)
	for {
		err := f()
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// trading does the work of clients and an operator in a world, once a day. It repeats each step until it succeeds, so that the result is
// the same after any failures.
func trading(ctx context.Context, w *contended, day time.Time) error {
	n := int64(day.Sub(w.begin).Hours() / 24)
	db, err := w.insist(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	// A client that got no response to its registration does not know the key, and registers another. Which one is used is not
	// deterministic.
	var key string
	for try := 0; key == ""; try++ {
		id := fmt.Sprintf("register-%d-%d", n, try)
		err := again(ctx, func() error {
			status, text, err := answered(ctx, http.MethodPost, w.base+"/api/v1/auth/register", fmt.Sprintf(`{"name":"client %d"}`, n), "", id)
			var said struct {
				Data struct {
					Key string `json:"api_key"`
				} `json:"data"`
			}
			if err != nil || status == http.StatusConflict {
				return err
			}
			if json.Unmarshal([]byte(text), &said) != nil || said.Data.Key == "" {
				return fmt.Errorf("no key: %d %s", status, text)
			}
			key = said.Data.Key
			return nil
		})
		if err != nil {
			return err
		}
	}
	var number int64
	if err := w.db.QueryRow(ctx, `select k.id from keys k order by k.id desc limit 1`).Scan(&number); err != nil {
		return err
	}
	if err := again(ctx, func() error {
		_, err := db.Credit(ctx, number, 1_000_000, postgres.Gift{Ref: fmt.Sprint("contention ", n), By: "operator", Reason: "for a day"})
		return err
	}); err != nil {
		return err
	}
	for _, path := range contendedReads {
		if err := again(ctx, func() error { _, _, err := answered(ctx, http.MethodGet, w.base+path, "", "", ""); return err }); err != nil {
			return err
		}
	}
	var picks bool
	if err := w.db.QueryRow(ctx, `select exists (select from announcements)`).Scan(&picks); err != nil {
		return err
	}
	if picks && (n >= 2 || !w.quick) {
		for i, path := range contendedWares {
			if err := again(ctx, func() error {
				status, text, err := answered(ctx, http.MethodGet, w.base+path, "", key, fmt.Sprintf("buy-%d-%d", n, i))
				if status == http.StatusNotFound && !w.quick {
					return nil // no pick is there yet, and nothing is charged
				}
				if err == nil && status != http.StatusOK {
					err = fmt.Errorf("%s: status %d: %.300s", path, status, text)
				}
				return err
			}); err != nil {
				return err
			}
		}
	}
	for _, path := range []string{"/api/v1/account", "/api/v1/usage"} {
		if err := again(ctx, func() error { _, _, err := answered(ctx, http.MethodGet, w.base+path, "", key, ""); return err }); err != nil {
			return err
		}
	}
	if n >= 3 && picks && !w.operated {
		w.operated = true
		var paid error
		if w.quick {
			paid = w.pay(ctx, key, number)
		}
		return errors.Join(paid, w.operate(ctx, db), again(ctx, func() error {
			status, _, err := answered(ctx, http.MethodPost, w.base+"/api/v1/keys/rotate", "", key, fmt.Sprintf("rotate-%d-5d41402abc4b2a76b9719d911017c592", n))
			if err == nil && status >= 400 {
				err = fmt.Errorf("rotate: status %d", status)
			}
			return err
		}))
	}
	return nil
}

// operate acts as an operator who corrects a pick, and computes days of a signal again.
func (w *contended) operate(ctx context.Context, db *postgres.DB) error {
	var now time.Time
	if err := w.db.QueryRow(ctx, `select world_now()`).Scan(&now); err != nil {
		return err
	}
	now = now.UTC()
	if w.quick { // other worlds must have no failed run
		if err := w.quarantine(ctx, db, now); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
	}
	ny, err := time.LoadLocation("America/New_York")
	if err != nil {
		return err
	}
	c := chain.Correction{Seq: 1, What: "the price was misprinted", Evidence: "https://exchange.example/1", Date: now.In(ny).Format(time.DateOnly)}
	if err := again(ctx, func() error { return db.Correct(ctx, c, "operator") }); err != nil {
		return err
	}
	p := w.program("operator")
	var plan backfill.Plan
	if err := again(ctx, func() error {
		planner, err := p.planner(ctx, db)
		if err != nil {
			return err
		}
		plan, err = planner.Plan(ctx, backfill.Request{Signal: "crack-spread-321", From: now.AddDate(0, 0, -9).Truncate(24 * time.Hour), To: now.AddDate(0, 0, -6).Truncate(24 * time.Hour), Parallelism: 2})
		if err != nil {
			return err
		}
		return planner.Store(ctx, &plan)
	}); err != nil {
		return err
	}
	return again(ctx, func() error {
		planner, err := p.planner(ctx, db)
		if err != nil {
			return err
		}
		return planner.Apply(ctx, plan.ID)
	})
}
