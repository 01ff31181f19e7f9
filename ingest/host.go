package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxRetryAfter bounds how long an upstream can shut itself off: a nonsensical header must not silence a host for years.
const maxRetryAfter = 24 * time.Hour

// hostSlots lets one request at a time go to each host from this process. The zero value is ready.
type hostSlots struct {
	mu    sync.Mutex
	slots map[string]chan struct{}
}

// take waits for the host's seat and returns how to leave it, which may be called more than once.
func (h *hostSlots) take(ctx context.Context, host string) (func(), error) {
	h.mu.Lock()
	if h.slots == nil {
		h.slots = make(map[string]chan struct{})
	}
	seat, ok := h.slots[host]
	if !ok {
		seat = make(chan struct{}, 1)
		h.slots[host] = seat
	}
	h.mu.Unlock()

	select {
	case seat <- struct{}{}:
		return sync.OnceFunc(func() { <-seat }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// waitForHost waits until a request to the host is allowed and returns the function to call once the response has been read. The host's
// next instant is booked over all processes. Within this one, the slot keeps the order and prevents concurrent requests.
func (e *Engine) waitForHost(ctx context.Context, q fetchRequest) (func(), error) {
	if e.Offline {
		return func() {}, nil
	}
	host := q.host
	leave, err := e.slots.take(ctx, host)
	if err != nil {
		return nil, q.fail(Temporary, fmt.Errorf("wait for the host %s: %w", host, err))
	}
	wait, err := e.Ledger.ReserveHost(ctx, host, q.limits.Interval)
	if err != nil {
		leave()
		return nil, fmt.Errorf("reserve the host %s: %w", host, err)
	}
	if left := e.budget(ctx); wait > left {
		leave()
		busy := q.fail(Temporary, fmt.Errorf("the host %s may be asked in %s, %s are left", host, wait, left))
		busy.RetryAfter = wait
		return nil, busy
	}
	if err := e.wait(ctx, wait); err != nil {
		leave()
		return nil, q.fail(Temporary, fmt.Errorf("wait for the host %s: %w", host, err))
	}
	return leave, nil
}

// budget is the longest that the engine may wait now: its patience, or what is left until the deadline of ctx. Deadlines are
// kept by the process's own clock in every world.
func (e *Engine) budget(ctx context.Context) time.Duration {
	left := e.timeout()
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	return left
}

// wait sleeps for d or until ctx is over.
func (e *Engine) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	if e.Wait != nil {
		return e.Wait(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retryAfter reads the header Retry-After in both forms of RFC 9110, section 10.2.3. A date is counted from the response's own Date, so
// that a skewed clock on either side does no harm, and from now if the response has no Date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	switch seconds, err := strconv.ParseUint(v, 10, 31); {
	case err == nil:
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	case errors.Is(err, strconv.ErrRange):
		return maxRetryAfter
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
