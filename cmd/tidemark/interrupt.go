package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// urgency is a second signal that ends the process, which shuts down too slowly for its operator. A nil urgency never comes.
type urgency struct {
	come context.Context

	mu sync.Mutex
	// ends are called at the second signal, all at once.
	ends []func()
	// say writes the last line.
	say func(text string)
}

type urgencyKey struct{}

// urgencyOf returns the urgency that interruptible put into a context, or nil.
func urgencyOf(ctx context.Context) *urgency {
	u, _ := ctx.Value(urgencyKey{}).(*urgency)
	return u
}

// context returns a context for the shutdown: it ends at the second signal.
func (u *urgency) context() context.Context {
	if u == nil {
		return context.Background()
	}
	return u.come
}

// before makes f run at the second signal, before the process ends.
func (u *urgency) before(f func()) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ends = append(u.ends, f)
}

// sayWith replaces the function that writes the last line.
func (u *urgency) sayWith(say func(text string)) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.say = say
}

// atOnceWithin is how long the functions of an urgency may take together.
const atOnceWithin = 3 * time.Second

// end says that the process ends, and calls the functions. It returns when all have returned or their time is over.
func (u *urgency) end(text string) {
	u.mu.Lock()
	ends, say := u.ends, u.say
	u.mu.Unlock()
	say(text)
	var wg sync.WaitGroup
	for _, f := range ends {
		wg.Go(f)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(atOnceWithin):
	}
}

// sameWish is how soon after the first signal another one is still the same wish to stop: GNU timeout signals a process and then its group.
const sameWish = 500 * time.Millisecond

// urges reports whether a signal that came after the first one means that the operator will not wait. A closed terminal never does: its
// shell and the kernel each send a SIGHUP, whenever they come to it.
func urges(s os.Signal, after time.Duration) bool { return s != syscall.SIGHUP && after >= sameWish }

// interruptible returns a context that ends at the first signal to stop. At the second one, the process says so and ends at once, with the
// exit status of shells for that signal. So an operator need not wait for a shutdown that hangs. See urges for the signals that do not count as a second one.
func interruptible() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	come, urge := context.WithCancel(context.Background())
	u := &urgency{come: come, say: lastLine(os.Stderr, "")}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // a terminal that is closed; nohup lets a program ignore it
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		first := time.Now()
		stop()
		second := <-signals
		for !urges(second, time.Since(first)) {
			second = <-signals
		}
		urge()
		u.end("ending at once after a second signal, work in progress is not waited for")
		status := 128
		if s, ok := second.(syscall.Signal); ok {
			status += int(s)
		}
		os.Exit(status)
	}()
	return context.WithValue(ctx, urgencyKey{}, u)
}
