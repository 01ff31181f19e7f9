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

// coalescer merges the questions of concurrent callers into one statement. A caller that arrives while statements run waits, and joins the
// next statement with all others that wait. So each commit carries more work under more load. It has no goroutine: one waiting caller leads
// for one statement, then hands the lead to the next. It is safe for concurrent use.
type coalescer[Q, A any] struct {
	// do answers all questions in order. If it fails, it has changed nothing.
	do func(ctx context.Context, list []Q) ([]A, error)
	// row returns the row that a question locks until its commit. A question waits here while a running statement locks the same row.
	// Otherwise its statement would wait in the database, with all questions in it.
	row func(Q) int64
	// alone reports whether one question may have caused an error of the statement. Each question is then sent separately.
	alone func(error) bool

	mu      sync.Mutex
	waiting []*member[Q, A]
	leaders int
	// busy holds the rows of the running statements.
	busy map[int64]bool
}

const (
	// maxTogether limits the questions in a statement. maxLeaders limits the running statements: one prepares while the other commits.
	maxTogether = 512
	maxLeaders  = 2
	// togetherTimeout limits one statement. It replaces the callers' deadlines, because they share the statement.
	togetherTimeout = 5 * time.Second
)

type member[Q, A any] struct {
	ctx      context.Context //nolint:containedctx // the question waits with its asker's context
	question Q
	answer   A
	err      error
	// wake receives true when the member must lead, and false when it has its answer. It has room for both.
	wake chan bool
	// called means that the member was told to lead and has not yet started.
	called bool
}

// ask returns the answer to one question. If ctx ends before a statement includes the question, nothing is sent and ask returns the error
// of ctx. If ctx ends later, ask returns the same error, but the statement still takes effect.
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

// lead runs one statement for all waiting members whose rows are free, then hands on the lead.
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
		case m.ctx.Err() != nil: // it sees the end of its context itself
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
	g.leaders-- // members that still wait depend on a called leader or on a running statement
}

// try is do with a panic as an error: the other members still need answers, and the lead must pass on.
func (g *coalescer[Q, A]) try(ctx context.Context, questions []Q) (answers []A, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return g.do(ctx, questions)
}

// answer runs one statement for a list, and wakes each of its members.
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
