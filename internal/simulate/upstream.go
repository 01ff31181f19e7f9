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

// upstreams are the publishers: those of the sandbox, in trouble as publishers are. Single answers go wrong; a host is away for hours;
// a publisher stands still for days and then brings at once what it should have, revisions included.
type upstreams struct {
	http.RoundTripper
	clock *clock
	dice  random
	trace *trace
	// rate is the share of answers that go wrong on their own.
	rate float64

	// hosts are those that were ever asked. at is the time that the publisher of the question under way lives in.
	hosts map[string]*publisher
	at    time.Time
}

// publisher is the state of one host.
type publisher struct {
	// Until stormUntil answers go wrong as storm says, all of them. Until stuckUntil it shows what it showed at stuckAt.
	storm      upstreamFault
	stormUntil time.Time
	stuckAt    time.Time
	stuckUntil time.Time
}

// upstreamFault is one way for an answer to go wrong.
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

// RoundTrip lets a publisher answer, from its own time.
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

// fault decides what goes wrong with an answer.
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

// storms lets one of the hosts be in trouble for a while, or stand still.
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

// wait is the engine's sleep: simulated time passes. How long the engine waits before it asks again is drawn from the machine's own dice,
// to spread load; here it is always the same. What an upstream asked for is kept to.
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
