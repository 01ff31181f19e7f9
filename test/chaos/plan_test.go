package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// What is done to the set-up.
const (
	killWorker      = "worker killed"
	killScheduler   = "scheduler killed"
	killAPI         = "API killed"
	freezeWorker    = "worker frozen"
	freezeScheduler = "scheduler frozen"
	keepRedis       = "Redis killed, its data kept"
	loseRedis       = "Redis emptied and killed"
	killPostgres    = "Postgres killed"
)

// kinds are all faults. deck holds each fault as often as it occurs among twelve.
var (
	kinds = []string{killWorker, killScheduler, killAPI, freezeWorker, freezeScheduler, keepRedis, loseRedis, killPostgres}
	deck  = append([]string{killWorker, killWorker, killScheduler, killAPI}, kinds...)
)

// victims are the possible victims of a fault: their name and number.
var victims = map[string]struct {
	name string
	n    int
}{
	killWorker: {"worker", workers}, freezeWorker: {"worker", workers},
	killAPI:       {"api", apis},
	killScheduler: {"scheduler", schedulers}, freezeScheduler: {"scheduler", schedulers},
	keepRedis: {"Redis", 1}, loseRedis: {"Redis", 1}, killPostgres: {"Postgres", 1},
}

// fault is something that is done to a victim and repaired after a while. at counts from the beginning of the faults.
type fault struct {
	at, lasts time.Duration
	what      string
	victim    string
	whom      int
}

// span is a range of durations.
type span struct{ min, max time.Duration }

func (s span) draw(r *rand.Rand) time.Duration {
	return s.min + time.Duration(r.Int64N(int64(s.max-s.min)+1))
}

const (
	// maxPause is the longest time between two faults, if the window is long enough.
	maxPause = 5 * time.Second
	// quietEnd is the time without faults at the end; minGap is the shortest time between two faults of one victim.
	quietEnd, minGap = time.Second, time.Second
	// minWindow is the shortest time in which each kind of fault has a place.
	minWindow = 30 * time.Second
)

// lasting returns how long a fault lasts. redis is the range for a Redis; it is longer if another server must notice the fault. A frozen
// process counts as dead after ten seconds, or resumes before.
func lasting(what string, redis span) span {
	switch what {
	case killWorker, killScheduler, killAPI:
		return span{200 * time.Millisecond, 3 * time.Second}
	case freezeWorker, freezeScheduler:
		return span{2 * time.Second, 16 * time.Second}
	case killPostgres:
		return span{500 * time.Millisecond, 6 * time.Second}
	}
	return redis
}

// newPlan deals the faults of a window: first one of each kind, then more of them for as long as there is time. Their order, their moments
// and whom they strike follow from the seed alone.
func newPlan(seed uint64, window time.Duration, redis span) []fault {
	r := rand.New(rand.NewPCG(seed, seed))
	// With pauses of this length all kinds have begun, and last for a while, before the window is over, although one Redis suffers twice.
	longest := min(maxPause, (window-quietEnd-2*(redis.max+minGap))/time.Duration(len(kinds)+1))
	pause := span{longest / 3, longest}
	free := map[string]time.Duration{} // from when on something may be done to a victim
	var plan []fault
	at := time.Duration(0)
	for cards := slices.Clone(kinds); ; cards = slices.Clone(deck) {
		r.Shuffle(len(cards), func(i, k int) { cards[i], cards[k] = cards[k], cards[i] })
		for _, what := range cards {
			at += pause.draw(r)
			victim, whom := pick(r, what, free)
			at = max(at, free[victim])
			if what == killAPI { // which waits for the others to be there, and that they are with Postgres alone
				at = max(at, free[name("Postgres", 0)])
				for other := range apis {
					at = max(at, free[name("api", other)])
				}
			}
			takes := lasting(what, redis)
			takes.max = min(takes.max, window-quietEnd-at)
			if takes.max < takes.min {
				return plan
			}
			f := fault{at: at, lasts: takes.draw(r), what: what, victim: victim, whom: whom}
			plan = append(plan, f)
			free[victim] = f.at + f.lasts + minGap
		}
	}
}

// pick draws whom a fault strikes: the first from there on that is free, or that is soonest.
func pick(r *rand.Rand, what string, free map[string]time.Duration) (victim string, whom int) {
	v := victims[what]
	from := r.IntN(v.n)
	whom = from
	for i := range v.n {
		if other := (from + i) % v.n; free[name(v.name, other)] < free[name(v.name, whom)] {
			whom = other
		}
	}
	return name(v.name, whom), whom
}

func name(victim string, whom int) string { return fmt.Sprint(victim, " ", whom+1) }

func TestAPlanFollowsFromItsSeedAndHasEverything(t *testing.T) {
	t.Parallel()
	redis := span{4 * time.Second, 9 * time.Second}
	for seed := range uint64(100) {
		for _, window := range []time.Duration{minWindow, time.Minute, 5 * time.Minute} {
			plan := newPlan(seed, window, redis)
			if again := newPlan(seed, window, redis); !slices.Equal(plan, again) {
				t.Fatalf("seed %d has two plans: %v, %v", seed, plan, again)
			}
			free := map[string]time.Duration{}
			seen := map[string]bool{}
			last := time.Duration(0)
			for _, f := range plan {
				if f.at < last || f.at < free[f.victim] {
					t.Errorf("seed %d: %s of %s at %s, while something else is done to it", seed, f.what, f.victim, f.at)
				}
				if f.what == killAPI && f.at < free[name("Postgres", 0)] {
					t.Errorf("seed %d: an API is killed at %s, while none can begin", seed, f.at)
				}
				for other := range apis {
					if f.what == killAPI && f.at < free[name("api", other)] {
						t.Errorf("seed %d: an API is killed at %s, before the other one begins again", seed, f.at)
					}
				}
				last, free[f.victim] = f.at, f.at+f.lasts
				if free[f.victim] > window {
					t.Errorf("seed %d: %s of %s is not repaired in time", seed, f.what, f.victim)
				}
				seen[f.what] = true
			}
			if len(seen) != len(victims) || len(seen) != len(kinds) {
				t.Errorf("seed %d has only %d kinds of faults in %s", seed, len(seen), window)
			}
		}
	}
	if slices.Equal(newPlan(1, time.Minute, redis), newPlan(2, time.Minute, redis)) {
		t.Error("two seeds have one plan")
	}
}
