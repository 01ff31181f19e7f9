package view_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"tidemark/api/view"
)

func TestAConcurrencyLimiterBoundsAClientAndAll(t *testing.T) {
	t.Parallel()
	l := view.NewConcurrencyLimiter(3, 2)
	enter := func(client string, want error) func() {
		t.Helper()
		leave, err := l.Enter(client)
		if !errors.Is(err, want) {
			t.Errorf("Enter(%q) is %v, want %v", client, err, want)
		}
		return leave
	}
	first := enter("a", nil)
	enter("a", nil)
	enter("a", view.ErrTooManyOfClient)
	last := enter("b", nil)
	enter("b", view.ErrTooMany)
	enter("a", view.ErrTooManyOfClient) // its own bound is what a client can do something about
	first()
	enter("b", nil)
	enter("", view.ErrTooMany)
	last()
	enter("", nil) // without a name there is no bound of a client
	if all, of := l.Open("a"); all != 3 || of != 1 {
		t.Errorf("%d are open, %d of a; want 3 and 1", all, of)
	}
}

func TestAConcurrencyLimiterWithoutBoundsLetsAllEnter(t *testing.T) {
	t.Parallel()
	l := view.NewConcurrencyLimiter(0, 0)
	for range 1000 {
		if _, err := l.Enter("a"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAConcurrencyLimiterNeverHasMoreThanItsBoundsAtOnce(t *testing.T) {
	t.Parallel()
	l := view.NewConcurrencyLimiter(5, 3)
	var all, entered atomic.Int64
	var beside sync.WaitGroup
	for _, client := range []string{"a", "b", "c"} {
		var of atomic.Int64
		for range 8 {
			beside.Go(func() {
				for range 500 {
					leave, err := l.Enter(client)
					if err != nil {
						continue
					}
					entered.Add(1)
					if n := of.Add(1); n > 3 {
						t.Errorf("%s has %d", client, n)
					}
					if n := all.Add(1); n > 5 {
						t.Errorf("%d are open", n)
					}
					all.Add(-1)
					of.Add(-1)
					leave()
				}
			})
		}
	}
	beside.Wait()
	if n, _ := l.Open("a"); n != 0 || entered.Load() == 0 {
		t.Errorf("%d are left of %d", n, entered.Load())
	}
}
