package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/internal/redisurl"
	"tidemark/picks"
)

// Rate is a number of requests per duration. The zero value means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Limiter limits how often each name may do something. With Redis the limit is for all processes together. While Redis is unavailable, each
// process counts separately. It uses the generic cell rate algorithm: a name may send Rate.N requests at once, and regains one every
// Rate.Per / Rate.N. It is safe for concurrent use.
type Limiter struct {
	redis redis.UniversalClient
	now   func() time.Time
	log   *slog.Logger
	// retryAt is when to try Redis again after a failure, in microseconds. 0 means that Redis is available.
	retryAt atomic.Int64

	mu sync.Mutex
	// fullAt holds, for each name, the microsecond at which its full allowance is restored.
	fullAt map[string]int64
}

const (
	// redisTimeout bounds a call to Redis, because a response waits for it.
	redisTimeout = 250 * time.Millisecond
	// redisRetryDelay is how long Redis is skipped after a failure.
	redisRetryDelay = time.Second
	// maxLocalKeys bounds the memory of local counting to about 10 MB per process.
	maxLocalKeys = 100_000
)

// NewLimiter returns a limiter. redisURL has one of the forms of package redisurl. If it is empty, each process counts separately. now is
// the wall clock.
func NewLimiter(redisURL string, now func() time.Time, log *slog.Logger) (*Limiter, error) {
	l := &Limiter{now: now, log: log, fullAt: map[string]int64{}}
	if redisURL == "" {
		return l, nil
	}
	address, err := redisurl.Parse(redisURL)
	if err != nil {
		return nil, err
	}
	l.redis = address.Client(func(o *redis.UniversalOptions) {
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = redisTimeout, redisTimeout, redisTimeout, redisTimeout
		o.MaxRetries, o.DialerRetries = -1, 1
		o.DisableIdentity = true
	})
	return l, nil
}

// Close closes the connections.
func (l *Limiter) Close() error {
	if l.redis == nil {
		return nil
	}
	return l.redis.Close()
}

// limitResult is the limiter's decision about one request.
type limitResult struct {
	ok bool
	// The fields: how many requests may follow at once; the time until the full allowance is restored; after a rejection, the time until
	// the next request is allowed.
	left         int
	reset, retry time.Duration
}

// gcra implements the algorithm. The allowance is or was full again at the instant full. If one more request is allowed, it is full at
// after instead. All values are microseconds.
func gcra(full, now, interval, per int64) (after int64, ok bool) {
	full = max(full, now)
	if full+interval-now > per {
		return full, false
	}
	return full + interval, true
}

// The same algorithm inside Redis, by the clock of Redis. KEYS[1] stores the name's instant in microseconds. ARGV[1] is the interval and
// ARGV[2] the whole period, both in microseconds. The result is whether the request is allowed, and the microseconds until the full
// allowance is restored.
var stepScript = redis.NewScript(`
	local time = redis.call('TIME')
	local now = time[1] * 1000000 + time[2]
	local full = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
	local interval, per = tonumber(ARGV[1]), tonumber(ARGV[2])
	if full + interval - now > per then
		return {0, full - now}
	end
	full = full + interval
	redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
	return {1, full - now}`)

// allow counts one request of a name, if its limit permits it.
func (l *Limiter) allow(ctx context.Context, name string, r Rate) limitResult {
	per := r.Per.Microseconds()
	interval := per / int64(r.N)
	used, ok, err := l.allowShared(ctx, name, interval, per)
	if err != nil {
		used, ok = l.allowLocal(name, interval, per)
	}
	a := limitResult{ok: ok, left: int((per - used) / interval), reset: time.Duration(used) * time.Microsecond}
	if !ok {
		a.left, a.retry = 0, time.Duration(used+interval-per)*time.Microsecond
	}
	return a
}

var errNoRedis = errors.New("no Redis is configured or available")

func (l *Limiter) allowShared(ctx context.Context, name string, interval, per int64) (used int64, ok bool, err error) {
	retryAt, now := l.retryAt.Load(), l.now()
	if l.redis == nil || now.UnixMicro() < retryAt {
		return 0, false, errNoRedis
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
	defer cancel()
	out, err := stepScript.Run(ctx, l.redis, []string{"tidemark:rate:" + name}, interval, per).Int64Slice()
	if err == nil && len(out) != 2 {
		err = fmt.Errorf("%d numbers in the answer of Redis", len(out))
	}
	if err != nil {
		if l.retryAt.Swap(now.Add(redisRetryDelay).UnixMicro()) == 0 {
			l.log.WarnContext(ctx, "Redis is away: each process counts its rate limits by itself", "err", err)
		}
		return 0, false, err
	}
	if retryAt != 0 && l.retryAt.CompareAndSwap(retryAt, 0) {
		l.log.InfoContext(ctx, "Redis is back: all processes count their rate limits together")
	}
	return out[1], out[0] == 1, nil
}

func (l *Limiter) allowLocal(name string, interval, per int64) (used int64, ok bool) {
	now := l.now().UnixMicro()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fullAt) >= maxLocalKeys {
		for other, full := range l.fullAt {
			if full <= now {
				delete(l.fullAt, other)
			}
		}
		if len(l.fullAt) >= maxLocalKeys {
			clear(l.fullAt) // too many names: allowing too much is better than using too much memory
		}
	}
	full, ok := gcra(l.fullAt[name], now, interval, per)
	l.fullAt[name] = full
	return full - now, ok
}

// limitedByAddress counts one request of a client's address against the limit of a door.
func (s *Server) limitedByAddress(w http.ResponseWriter, r *http.Request, door string, rate Rate) error {
	if s.billing == nil || rate == (Rate{}) {
		return nil
	}
	return s.limited(w, r, door, clientNetwork(s.client(r)), rate)
}

// limitHistory applies the rate limit for requests that read history from the database. Responses from memory cost almost nothing and are
// not counted.
func (s *Server) limitHistory(w http.ResponseWriter, r *http.Request) error {
	if s.billing == nil {
		return nil
	}
	return s.limitedByAddress(w, r, "signals", s.billing.SignalsRate)
}

// logShare is how many times the requests for history are allowed for the files of the logs: each is one row, and a monitor reads all of them
// twice.
const logShare = 5

// limitLog applies the rate limit of the logs' files, and does not touch the limit for history.
func (s *Server) limitLog(w http.ResponseWriter, r *http.Request) error {
	if s.billing == nil {
		return nil
	}
	rate := s.billing.SignalsRate
	rate.N *= logShare
	return s.limitedByAddress(w, r, "log", rate)
}

// limited counts one request of a name against the limit of a door and reports the result in the header. The error is the problem of a
// rejected request.
func (s *Server) limited(w http.ResponseWriter, r *http.Request, door, name string, rate Rate) error {
	if rate == (Rate{}) {
		return nil
	}
	a := s.billing.Limiter.allow(r.Context(), door+":"+name, rate)
	h := w.Header()
	h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, rate.N, seconds(rate.Per)))
	h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, a.left, seconds(a.reset)))
	if a.ok {
		return nil
	}
	in := func(lang picks.Lang) string {
		words := languages.Or(lang).Words
		return fmt.Sprintf(words["limit.refused"], rate.N, written(words, rate.Per), written(words, rounded(a.retry)))
	}
	return &problemError{code: view.CodeRateLimited, detail: in(picks.English), in: in, retryAfter: strconv.Itoa(seconds(a.retry))}
}

// written returns a duration in words, in the largest unit of which it is a whole number: "an hour", "12 minutes".
func written(words map[string]string, d time.Duration) string {
	n, name := seconds(d), "second"
	for _, unit := range []struct {
		size int
		name string
	}{{60, "minute"}, {60, "hour"}, {24, "day"}} {
		if n == 0 || n%unit.size != 0 {
			break
		}
		n, name = n/unit.size, unit.name
	}
	if n == 1 {
		return words["limit."+name]
	}
	return fmt.Sprintf(words["limit."+name+"s"], n)
}

// rounded rounds a wait up to seconds, to minutes from a minute on, and to hours from two hours on.
func rounded(d time.Duration) time.Duration {
	unit := time.Second
	switch {
	case d > 2*time.Hour:
		unit = time.Hour
	case d > time.Minute:
		unit = time.Minute
	}
	return max((d+unit-1)/unit, 1) * unit
}

// seconds rounds up, so that a client that waits this long is never too early.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// underWay counts one more of a client, or returns the problem that it has too many, or that all have. what names them in a sentence, and
// note is added to it and may be empty.
func underWay(l *view.ConcurrencyLimiter, client, what, note, retryAfter string) (leave func(), err error) {
	leave, err = l.Enter(client)
	switch {
	case errors.Is(err, view.ErrTooManyOfClient):
		return nil, &problemError{code: view.CodeRateLimited, detail: fmt.Sprintf("An address may have %d %s.%s", l.OfClient(), what, note), retryAfter: retryAfter}
	case err != nil:
		return nil, &problemError{code: view.CodeUnavailable, detail: fmt.Sprintf("There are too many %s.%s", what, note), retryAfter: retryAfter}
	}
	return leave, nil
}
