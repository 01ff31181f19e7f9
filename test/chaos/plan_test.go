package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is done to the set-up.
const (
	killWorker      = "worker killed"
	killScheduler   = "scheduler killed"
	freezeWorker    = "worker frozen"
	freezeScheduler = "scheduler frozen"
	keepRedis       = "Redis killed, its data kept"
	loseRedis       = "Redis emptied and killed"
	killPostgres    = "Postgres killed"
)

// deck has each fault as often as it is to be seen among ten.
var deck = []string{
	killWorker, killWorker, killWorker, killScheduler, killScheduler, freezeWorker, freezeScheduler, keepRedis, loseRedis, killPostgres,
}

// victims are what a fault may strike: the name, and how many there are of it.
var victims = map[string]struct {
	name string
	n    int
}{
	killWorker: {"worker", workers}, freezeWorker: {"worker", workers},
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
type span struct{ least, most time.Duration }

func (s span) draw(r *rand.Rand) time.Duration {
	return s.least + time.Duration(r.Int64N(int64(s.most-s.least)+1))
}

const (
	// between two faults pass two to five seconds.
	leastPause, mostPause = 2 * time.Second, 5 * time.Second
	// calm is what is left at the end without a fault.
	calm = time.Second
)

// lasting is how long a fault lasts; redis is that of a Redis, which is longer where another server has to notice. What is frozen is taken
// for dead after ten seconds, or wakes before.
func lasting(what string, redis span) span {
	switch what {
	case killWorker, killScheduler:
		return span{200 * time.Millisecond, 3 * time.Second}
	case freezeWorker, freezeScheduler:
		return span{2 * time.Second, 16 * time.Second}
	case killPostgres:
		return span{500 * time.Millisecond, 6 * time.Second}
	}
	return redis
}

// newPlan deals the faults of a window. It follows from the seed alone.
func newPlan(seed uint64, window time.Duration, redis span) []fault {
	r := rand.New(rand.NewPCG(seed, seed))
	busy := map[string]time.Duration{}
	var plan []fault
	at := time.Duration(0)
	for {
		cards := slices.Clone(deck)
		r.Shuffle(len(cards), func(i, k int) { cards[i], cards[k] = cards[k], cards[i] })
		for _, what := range cards {
			at += span{leastPause, mostPause}.draw(r)
			v, lasts, from := victims[what], lasting(what, redis).draw(r), r.IntN(victims[what].n)
			whom := from
			for i := range v.n { // the first from there on that nothing else is done to, or that is free again soonest
				if other := (from + i) % v.n; busy[name(v.name, other)] < busy[name(v.name, whom)] {
					whom = other
				}
			}
			at = max(at, busy[name(v.name, whom)])
			if at+lasts > window-calm {
				return plan
			}
			plan = append(plan, fault{at: at, lasts: lasts, what: what, victim: name(v.name, whom), whom: whom})
			busy[name(v.name, whom)] = at + lasts + time.Second
		}
	}
}

func name(victim string, whom int) string { return fmt.Sprint(victim, " ", whom+1) }

func TestAPlanFollowsFromItsSeedAndHasEverything(t *testing.T) {
	t.Parallel()
	redis := span{200 * time.Millisecond, 4 * time.Second}
	for seed := range uint64(200) {
		plan := newPlan(seed, 60*time.Second, redis)
		if d := cmp.Diff(plan, newPlan(seed, 60*time.Second, redis), cmp.AllowUnexported(fault{})); d != "" {
			t.Fatalf("seed %d has two plans:\n%s", seed, d)
		}
		free := map[string]time.Duration{}
		seen := map[string]bool{}
		for _, f := range plan {
			if f.at < free[f.victim] {
				t.Errorf("seed %d: %s of %s at %s, while something else is done to it", seed, f.what, f.victim, f.at)
			}
			free[f.victim] = f.at + f.lasts
			if free[f.victim] > 60*time.Second {
				t.Errorf("seed %d: %s of %s is not repaired in time", seed, f.what, f.victim)
			}
			seen[f.what] = true
		}
		if len(seen) < len(victims)-2 {
			t.Errorf("seed %d has only %d kinds of faults in a minute", seed, len(seen))
		}
	}
	if cmp.Equal(newPlan(1, time.Minute, redis), newPlan(2, time.Minute, redis), cmp.AllowUnexported(fault{})) {
		t.Error("two seeds have one plan")
	}
}
