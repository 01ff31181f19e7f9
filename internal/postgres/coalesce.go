package postgres

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// coalescer makes one statement of what many ask for at the same moment. Whoever comes while a statement is under way waits, and goes with
// the others who came by then into the next one: the more there is to do, the more each commit carries. There is no goroutine of its
// own: one of those who wait leads, for one statement, and then hands the lead to the next. It is safe for concurrent use.
type coalescer[Q, A any] struct {
	// do answers all questions in order, or fails as a whole, having changed nothing.
	do func(ctx context.Context, list []Q) ([]A, error)
	// row names what a question locks until its commit. One that locks the same as a statement under way waits for that to end: in a
	// statement of its own it would wait in the database, and all that go with it.
	row func(Q) int64
	// alone tells whether an error of a statement may be one question's fault, so that each is to be asked again by itself.
	alone func(error) bool

	mu      sync.Mutex
	waiting []*member[Q, A]
	leaders int
	// busy are the rows of the statements under way.
	busy map[int64]bool
}

const (
	// maxTogether bounds a statement, maxLeaders how many are under way: the next is prepared while the one before is made durable.
	maxTogether = 512
	maxLeaders  = 2
	// togetherTimeout bounds one statement. It is not that of any who asked: they share it.
	togetherTimeout = 5 * time.Second
)

type member[Q, A any] struct {
	ctx      context.Context //nolint:containedctx // the question waits with its asker's context
	question Q
	answer   A
	err      error
	// wake is sent true when the member is to lead, false when it was answered. It has room for both.
	wake chan bool
	// called tells that the member was told to lead and has yet to begin.
	called bool
}

// ask returns the answer to one question. When ctx ends before a statement took the question along, it was not asked, and the error is
// that of ctx. When ctx ends later the error is the same, and what was asked for happens all the same.
func (g *coalescer[Q, A]) ask(ctx context.Context, question Q) (answer A, err error) {
	m := &member[Q, A]{ctx: ctx, question: question, wake: make(chan bool, 2)}
	g.mu.Lock()
	g.waiting = append(g.waiting, m)
	if g.leaders < maxLeaders && !g.busy[g.row(question)] {
		g.leaders++
		g.call(m)
	}
	g.mu.Unlock()
	for {
		select {
		case lead := <-m.wake:
			if !lead {
				return m.answer, m.err
			}
			g.lead(m)
		case <-ctx.Done():
			g.mu.Lock()
			g.waiting = slices.DeleteFunc(g.waiting, func(w *member[Q, A]) bool { return w == m })
			woken, lead := false, false
			select {
			case lead = <-m.wake:
				woken = true
			default:
			}
			g.mu.Unlock()
			switch {
			case lead:
				g.lead(m)
			case woken:
				return m.answer, m.err
			}
			return answer, fmt.Errorf("wait for the commit: %w", ctx.Err())
		}
	}
}

// call tells a member to lead. The caller holds mu.
func (g *coalescer[Q, A]) call(m *member[Q, A]) {
	m.called = true
	m.wake <- true
}

// lead makes one statement of those who wait and are free to go, and hands the lead on.
func (g *coalescer[Q, A]) lead(leader *member[Q, A]) {
	g.mu.Lock()
	leader.called = false
	if g.busy == nil {
		g.busy = map[int64]bool{}
	}
	var list, left []*member[Q, A]
	mine := map[int64]bool{}
	for _, m := range g.waiting {
		row := g.row(m.question)
		switch {
		case m.ctx.Err() != nil: // it sees for itself
		case len(list) == maxTogether || g.busy[row]:
			left = append(left, m)
		default:
			mine[row] = true
			list = append(list, m)
		}
	}
	g.waiting = left
	maps.Copy(g.busy, mine)
	g.mu.Unlock()

	g.answer(list)

	g.mu.Lock()
	defer g.mu.Unlock()
	for row := range mine {
		delete(g.busy, row)
	}
	for _, m := range g.waiting {
		if !m.called && !g.busy[g.row(m.question)] {
			g.call(m)
			return
		}
	}
	g.leaders-- // whoever waits still, waits for a leader who is called or for a statement under way
}

// try is do, with a panic as an error: the others of the statement are to be answered, and the lead is to be handed on.
func (g *coalescer[Q, A]) try(ctx context.Context, questions []Q) (answers []A, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return g.do(ctx, questions)
}

// answer asks for all of a list, and wakes each member of it.
func (g *coalescer[Q, A]) answer(list []*member[Q, A]) {
	if len(list) == 0 {
		return
	}
	questions := make([]Q, len(list))
	for i, m := range list {
		questions[i] = m.question
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(list[0].ctx), togetherTimeout)
	defer cancel()
	answers, err := g.try(ctx, questions)
	if err != nil && len(list) > 1 && g.alone(err) {
		for _, m := range list {
			g.answer([]*member[Q, A]{m})
		}
		return
	}
	for i, m := range list {
		if m.err = err; err == nil {
			m.answer = answers[i]
		}
		m.wake <- false
	}
}
