package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Thousands of callers come and go at random. Each gets the answer to its own question, and no caller waits permanently.
func TestTogetherEveryoneIsAnswered(t *testing.T) {
	t.Parallel()
	const askers, rounds = 200, 20
	var statements, questions, under atomic.Int64
	var mu sync.Mutex
	held := map[int]int64{} // the statement that a row is in
	poison := errors.New("a bad question")
	g := &coalescer[int, int]{
		do: func(_ context.Context, list []int) ([]int, error) {
			if n := under.Add(1); n > maxLeaders {
				t.Errorf("%d statements at once", n)
			}
			defer under.Add(-1)
			statement := statements.Add(1)
			mu.Lock()
			for _, q := range list {
				if n := held[q%7]; n != 0 && n != statement {
					t.Errorf("the row %d is in two statements at once", q%7)
				}
				held[q%7] = statement
			}
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				for _, q := range list {
					held[q%7] = 0
				}
			}()
			<-time.After(200 * time.Microsecond) // a commit takes time
			questions.Add(int64(len(list)))
			out := make([]int, len(list))
			for i, q := range list {
				if q < 0 {
					return nil, poison
				}
				out[i] = 2 * q
			}
			return out, nil
		},
		row:   func(q int) int64 { return int64(q % 7) },
		alone: func(err error) bool { return errors.Is(err, poison) },
	}
	var wait sync.WaitGroup
	for a := range askers {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(a)))
			for r := range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				question := a*rounds + r
				switch random.IntN(20) {
				case 0:
					cancel()
				case 1:
					time.AfterFunc(time.Duration(random.IntN(200))*time.Microsecond, cancel)
				case 2:
					question = -1
				}
				answer, err := g.ask(ctx, question)
				switch {
				case errors.Is(err, context.Canceled) && ctx.Err() != nil:
				case question < 0 && errors.Is(err, poison):
				case err != nil || answer != 2*question:
					t.Errorf("question %d: %d, %v", question, answer, err)
				}
				cancel()
			}
		})
	}
	wait.Wait()
	if g.leaders != 0 || len(g.waiting) != 0 {
		t.Errorf("%d leaders and %d who wait are left", g.leaders, len(g.waiting))
	}
	if statements.Load() >= questions.Load() {
		t.Errorf("%d statements for %d questions: nobody went together", statements.Load(), questions.Load())
	}
}

// If a statement panics, all its callers get an error, and the next statement runs.
func TestTogetherAPanicIsAnError(t *testing.T) {
	t.Parallel()
	g := &coalescer[int, int]{
		do: func(_ context.Context, list []int) ([]int, error) {
			if list[0] < 0 {
				panic("out of order")
			}
			return list, nil
		},
		row:   func(q int) int64 { return int64(q) },
		alone: func(error) bool { return false },
	}
	for range 2 * maxLeaders {
		if _, err := g.ask(t.Context(), -1); err == nil || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("a panic is %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if a, err := g.ask(ctx, 7); a != 7 || err != nil {
		t.Errorf("after a panic: %d, %v", a, err)
	}
}
