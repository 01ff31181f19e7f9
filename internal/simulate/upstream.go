package simulate

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"tidemark/ingest/sources"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
)

// upstreams are the publishers of the sandbox with faults. Single responses fail. A host is unavailable for hours. A publisher stops
// updating for days and then publishes everything at once, revisions included.
type upstreams struct {
	http.RoundTripper
	clock *clock
	dice  random
	trace *trace
	// rate is the share of single responses that fail.
	rate float64

	// hosts are the publishers that received a request. at is the publisher's time for the current request.
	hosts map[string]*publisher
	at    time.Time
}

// publisher is the state of one host.
type publisher struct {
	// Until stormUntil, all responses fail as storm says. Until stuckUntil, the host shows its data of stuckAt.
	storm      upstreamFault
	stormUntil time.Time
	stuckAt    time.Time
	stuckUntil time.Time
}

// upstreamFault is a kind of faulty response.
type upstreamFault string

const (
	unavailable upstreamFault = "503"
	throttled   upstreamFault = "429"
	timedOut    upstreamFault = "time-out"
	truncated   upstreamFault = "truncated"
	empty       upstreamFault = "empty"
	page        upstreamFault = "page for people"
)

var troubles = []upstreamFault{unavailable, throttled, timedOut, truncated, empty, page}

func newUpstreams(w synth.World, c *clock, t *trace, rate float64) *upstreams {
	u := &upstreams{clock: c, dice: newDice(w.Seed, "upstreams"), trace: t, rate: rate, hosts: map[string]*publisher{}, at: c.now()}
	w.Now = func() time.Time { return u.at }
	handler := sources.Sandbox(w, calendar.IsTradingDay)
	u.RoundTripper = world.Sandbox(handler, world.SandboxOptions{Now: func() time.Time { return u.at }, Fault: u.fault})
	return u
}

// RoundTrip returns the response of a publisher, at its own time.
func (u *upstreams) RoundTrip(r *http.Request) (*http.Response, error) {
	now := u.clock.now()
	u.at = now
	if p := u.host(r.URL.Host); now.Before(p.stuckUntil) {
		u.at = p.stuckAt
	}
	return u.RoundTripper.RoundTrip(r) //nolint:wrapcheck // it is the transport
}

func (u *upstreams) host(name string) *publisher {
	p := u.hosts[name]
	if p == nil {
		p = &publisher{}
		u.hosts[name] = p
	}
	return p
}

// fault chooses the fault of a response.
func (u *upstreams) fault(r *http.Request, _ int) (world.Fault, bool) {
	now, p := u.clock.now(), u.host(r.URL.Host)
	if now.Before(p.stormUntil) {
		return p.storm.fault(u.dice), true
	}
	if !u.dice.chance(u.rate) {
		return world.Fault{}, false
	}
	t := one(u.dice, troubles)
	u.trace.fault(now, "upstream %s%s: %s", r.URL.Host, r.URL.Path, t)
	return t.fault(u.dice), true
}

func (t upstreamFault) fault(d random) world.Fault {
	switch t {
	case unavailable:
		return world.ErrorPage(http.StatusServiceUnavailable)
	case throttled:
		return world.Fault{
			Status: http.StatusTooManyRequests, Body: []byte("slow down"),
			Header: http.Header{"Retry-After": {strconv.Itoa(1 + d.IntN(300))}, "Content-Type": {"text/plain"}},
		}
	case timedOut:
		return world.Fault{Err: fmt.Errorf("no answer: %w", context.DeadlineExceeded)}
	case truncated:
		if d.chance(.5) {
			return world.Fault{Keep: .05 + .9*d.Float64()}
		}
		return world.Fault{Err: fmt.Errorf("read: %w", io.ErrUnexpectedEOF)}
	case empty:
		return world.Fault{Body: []byte{}}
	default:
		return world.ErrorPage(http.StatusOK)
	}
}

// storms makes one of the hosts fail for a while, or stop updating.
func (u *upstreams) storms() {
	names := slices.Sorted(maps.Keys(u.hosts))
	if len(names) == 0 {
		return
	}
	now, name := u.clock.now(), one(u.dice, names)
	p := u.hosts[name]
	if u.dice.chance(.4) {
		if now.Before(p.stuckUntil) {
			return
		}
		p.stuckAt, p.stuckUntil = now, now.Add(u.dice.between(6*time.Hour, 80*time.Hour))
		u.trace.fault(now, "publisher %s stands still until %s", name, p.stuckUntil.Format(time.RFC3339))
		return
	}
	p.storm, p.stormUntil = one(u.dice, troubles), now.Add(u.dice.between(time.Minute, 5*time.Hour))
	u.trace.fault(now, "upstream %s answers %s until %s", name, p.storm, p.stormUntil.Format(time.RFC3339))
}

// wait is the engine's sleep: simulated time passes. In production, the engine draws its backoff from the machine's random numbers, to
// spread load. Here it is always the same. A wait that an upstream requested is kept.
func (u *upstreams) wait(ctx context.Context, d time.Duration) error {
	const again = 4 * time.Second
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d < 15*time.Second {
		d = again
	}
	return u.clock.advance(ctx, d)
}
