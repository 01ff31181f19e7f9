package view_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// One client asks for a hundred slots at once, and another for one after it. The other gets the next slot that is free.
func TestAClientWithManyRequestsDelaysAnotherByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := view.NewQueue(view.QueueLimits{Slots: 2, SlotsOfClient: 2, Waiting: 200})
		served := make(chan string)
		next := make(chan struct{})
		ask := func(client string) {
			leave, err := q.Enter(t.Context(), client)
			if err != nil {
				t.Errorf("%s: %v", client, err)
				return
			}
			served <- client
			<-next
			leave()
		}
		for range 100 {
			go ask("many")
		}
		synctest.Wait()
		go ask("one")
		synctest.Wait()
		for range 2 { // these had the slots before
			if got := <-served; got != "many" {
				t.Errorf("the first slots went to %q", got)
			}
		}
		next <- struct{}{}
		turns := []string{<-served, ""}
		next <- struct{}{}
		if turns[1] = <-served; turns[0] != "one" && turns[1] != "one" {
			t.Errorf("the next two slots went to %q", turns)
		}
		close(next)
		for range 97 {
			<-served
		}
	})
}

func TestAClientHasItsShareOfTheSlotsAndOfTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := view.NewQueue(view.QueueLimits{Slots: 3, SlotsOfClient: 2, Waiting: 1, Wait: 5 * time.Second})
		enter := func(client string) func() {
			t.Helper()
			leave, err := q.Enter(t.Context(), client)
			if err != nil {
				t.Fatalf("%s: %v", client, err)
			}
			return leave
		}
		first := enter("a")
		enter("a")
		waits := make(chan struct{})
		go func() { enter("a"); close(waits) }() // one slot is free, and not for this client
		synctest.Wait()
		if q.Waiting() != 1 {
			t.Fatalf("%d requests wait, want 1", q.Waiting())
		}
		if _, err := q.Enter(t.Context(), "a"); !errors.Is(err, view.ErrQueueFull) {
			t.Errorf("a second waiting request: %v", err)
		}
		enter("b")
		first()
		<-waits
		if _, err := q.Enter(t.Context(), "b"); !errors.Is(err, postgres.ErrUnavailable) || errors.Is(err, view.ErrQueueFull) {
			t.Errorf("a request that waited five seconds: %v", err)
		}
		if q.Waiting() != 0 {
			t.Errorf("%d requests wait, want none", q.Waiting())
		}
	})
}

func TestARequestThatEndsLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := view.NewQueue(view.QueueLimits{Slots: 1, SlotsOfClient: 1, Waiting: 5})
		leave, err := q.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { _, err := q.Enter(ctx, "b"); gone <- err }()
		synctest.Wait()
		hangUp()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a request that ended: %v", err)
		}
		if q.Waiting() != 0 {
			t.Errorf("%d requests wait, want none", q.Waiting())
		}
		leave()
		if _, err := q.Enter(t.Context(), "b"); err != nil {
			t.Errorf("the slot is free: %v", err)
		}
	})
}
