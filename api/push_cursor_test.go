package api_test

import (
	"context"
	"slices"
	"testing"

	"tidemark/api"
	"tidemark/internal/postgres"
)

// lateOutbox is an outbox whose listener is late: it begins, or goes on, when the test says so.
type lateOutbox struct {
	*postgres.DB

	begin, next chan struct{}
}

func (o lateOutbox) Listen(ctx context.Context, l postgres.Listener) error {
	select {
	case <-o.begin:
	case <-ctx.Done():
		return nil
	}
	notified := l.Notified
	l.Notified = func(ctx context.Context, channel, payload string) error {
		select {
		case <-o.next:
		case <-ctx.Done():
			return nil
		}
		return notified(ctx, channel, payload)
	}
	return o.DB.Listen(ctx, l)
}

// A browser that gets anything but 200 never comes again. A process that has just begun keeps it waiting instead.
func TestAStreamWaitsForAServerThatHasJustBegun(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	late := lateOutbox{s.open(postgres.RoleAPI), make(chan struct{}), make(chan struct{})}
	close(late.next)
	s.serve(api.Options{View: s.view, Pushes: late})
	say(1)
	all, _ := s.listenTo("?after=0", noWait, "") // it has the answer's header already
	fresh, _ := s.listenTo("?topics=signal:crack-spread-321", noWait, "")
	close(late.begin)
	if got := s.values(all, 1); !slices.Equal(got, []float64{1}) {
		t.Errorf("who waited gets %v", got)
	}
	s.listenTo("")
	say(2)
	if got := append(s.values(all, 1), s.next(fresh).value(t)); !slices.Equal(got, []float64{2, 2}) {
		t.Errorf("then %v come", got)
	}
}

// Behind a proxy a browser comes to another process, which may have seen less than the one before.
func TestACursorThatThisServerHasNotSeenYetIsGood(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	first, _ := s.listenTo("")
	late := lateOutbox{s.open(postgres.RoleAPI), make(chan struct{}), make(chan struct{})}
	close(late.begin)
	s.serve(api.Options{View: s.view, Pushes: late})
	s.listenTo("") // it is loaded, and sees nothing that comes now
	say(1)
	say(2)
	s.next(first)
	seen := s.next(first)
	behind, _ := s.listenTo("", "Last-Event-ID", seen.id)
	say(3)
	close(late.next)
	if got := s.next(behind); got.value(t) != 3 {
		t.Errorf("after %s comes %+v", seen.id, got)
	}
}

// A database that was set back to an earlier time gives its cursors again. A browser that gets anything but 200 never comes again.
func TestACursorThatNoEventHasBeginsAtThePresent(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	events, _ := s.listenTo("")
	say(1)
	s.next(events)
	told := func(name string, ahead <-chan sent) {
		t.Helper()
		if e := s.next(ahead); e.event != "gap" || e.id != "1" || e.data != `{"oldest":"2"}` {
			t.Errorf("%s: the first event is %+v", name, e)
		}
	}
	header, _ := s.listenTo("", "Last-Event-ID", "999999")
	told("with a header", header)
	late := lateOutbox{s.open(postgres.RoleAPI), make(chan struct{}), make(chan struct{})}
	close(late.next)
	s.serve(api.Options{View: s.view, Pushes: late})
	waiting, _ := s.listenTo("?after=999999", noWait, "")
	close(late.begin)
	told("at a server that has just begun", waiting)
	ahead, _ := s.listenTo("?after=999999")
	s.next(ahead)
	say(2)
	if e := s.next(ahead); e.id != "2" || e.value(t) != 2 {
		t.Errorf("after the gap comes %+v", e)
	}
}

// A restored database jumps over cursors. Nothing was lost in the jump, so no reader is told of a gap.
func TestAJumpOfTheCursorsIsNoGap(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	say(1)
	s.query(`update push_head set last = last + 1000000000 returning last::text`)
	s.serve(api.Options{View: s.view, Pushes: s.open(postgres.RoleAPI)})
	quiet, _ := s.listenTo("?after=1")
	lost, _ := s.listenTo("?after=3") // the event came after the backup
	say(2)
	for name, events := range map[string]<-chan sent{"up to the backup": quiet, "beyond the backup": lost} {
		if e := s.next(events); e.event != "signal" || e.id != "1000000002" || e.value(t) != 2 {
			t.Errorf("%s: the first event is %+v", name, e)
		}
	}
}
