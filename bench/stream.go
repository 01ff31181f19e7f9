package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/postgres"
)

const (
	// listeners are the streams that are open at once. Each address has streamsOfOne of them.
	listeners, streamsOfOne = 5000, 30
	// streamed is the number of commits, and streamLimit the limit of the 99th percentile over all listeners and commits.
	streamed, streamLimit = 60, 20 * time.Millisecond
	// streamPause is the pause between two commits.
	streamPause = 100 * time.Millisecond
)

// streamVisible measures P11: how long after its commit a change has reached 5,000 clients that listen to the stream of an API process as
// it is run. The peer is the least that is possible: a session that waits for the same notification and reads the one row. The two take
// turns, in blocks. The clients are in this process, so the figure includes their cost.
func streamVisible(ctx context.Context, m *meter) error {
	return withFixture(ctx, 100, func(ctx context.Context, s *fixture) (err error) {
		ours, err := s.startAPI(ctx, "TRUSTED_PROXIES=127.0.0.0/8", "SIGNALS_RATE_LIMIT=off")
		if err != nil {
			return err
		}
		defer ours.stop()
		worker, err := postgres.Open(ctx, s.server, postgres.RoleWorker)
		if err != nil {
			return err
		}
		defer worker.Close()
		b := &streamBench{changer: changer{fixture: s, meter: m, worker: worker}, arrived: make(chan time.Time, listeners)}
		ctx, stop := context.WithCancel(ctx)
		defer b.open.Wait()
		defer stop()
		if err := b.listen(ctx, ours); err != nil {
			return err
		}
		used, err := cpuTime(ours.cmd.Process.Pid)
		if err != nil {
			return err
		}
		var pushed, last, read []time.Duration
		for len(read) < streamed {
			waits, err := b.push(ctx)
			if err != nil {
				return err
			}
			for commit := range slices.Chunk(waits, listeners) {
				last = append(last, slices.Max(commit))
			}
			pushed = append(pushed, waits...)
			waits, err = b.readOne(ctx)
			if err != nil {
				return err
			}
			read = append(read, waits...)
		}
		after, err := cpuTime(ours.cmd.Process.Pid)
		if err != nil {
			return err
		}
		slices.Sort(pushed)
		slices.Sort(read)
		p99 := pushed[len(pushed)*99/100]
		m.count(streamed)
		m.say("  %d commits to %d listeners: sent after %s; target p99 <= %d ms  %s", streamed, listeners, spread(pushed), streamLimit.Milliseconds(), verdict(p99 <= streamLimit))
		m.say("  as many read by a session that waits for them: %s  ratio of the medians %6.2f, of p99 %6.2f", spread(read),
			pushed[len(pushed)/2].Seconds()/read[len(read)/2].Seconds(), p99.Seconds()/read[len(read)*99/100].Seconds())
		bare, floor, err := m.bareWrites(ctx)
		if err != nil {
			return err
		}
		m.say("  the last of the listeners has it after %s (median); %d bare writes to as many connections, in one process with its readers: the last is read after %s (median)  ratio %6.2f",
			median(last).Round(100*time.Microsecond), listeners, floor.Round(100*time.Microsecond), median(last).Seconds()/floor.Seconds())
		own := (after - used) / time.Duration(listeners*b.done)
		m.say("  processor time of the API for a listener and commit: %s, of a bare write of as many bytes to a connection: %s  ratio %6.2f", own, bare, own.Seconds()/bare.Seconds())
		return nil
	})
}

// frameBytes is about the length of an event.
const frameBytes = 700

// bareWrites measures the kernel's part alone. It writes an event to as many local connections as there are listeners, on all cores. used is the
// processor time of one write while the other ends do not read, so nothing wakes. Then each other end waits for the event, as a listener does.
// elapsed is the median time until the last end has read it.
func (m *meter) bareWrites(ctx context.Context) (used, elapsed time.Duration, err error) {
	const rounds = 10
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = ln.Close() }()
	own, theirs := make([]net.Conn, 0, listeners), make([]net.Conn, 0, listeners)
	defer func() {
		for _, c := range append(own, theirs...) {
			_ = c.Close()
		}
	}()
	for range listeners {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", ln.Addr().String())
		if err != nil {
			return 0, 0, err
		}
		theirs = append(theirs, c)
		if c, err = ln.Accept(); err != nil {
			return 0, 0, err
		}
		own = append(own, c)
	}
	event := make([]byte, frameBytes)
	write := func() error {
		var g errgroup.Group
		for part := range slices.Chunk(own, 1+(listeners-1)/runtime.GOMAXPROCS(0)) {
			g.Go(func() error {
				for _, c := range part {
					if _, err := c.Write(event); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return g.Wait()
	}
	used, err = m.processor(func() error {
		for range rounds {
			if err := write(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	arrived := make(chan time.Time, listeners)
	for _, c := range theirs { // each ends when its connection is closed
		go func() {
			event := make([]byte, frameBytes)
			for {
				if _, err := io.ReadFull(c, event); err != nil {
					return
				}
				arrived <- m.now()
			}
		}()
	}
	for range rounds * listeners { // what was written before
		<-arrived
	}
	var took []time.Duration
	for range rounds {
		begin := m.now()
		if err := write(); err != nil {
			return 0, 0, err
		}
		var last time.Time
		for range listeners {
			if at := <-arrived; at.After(last) {
				last = at
			}
		}
		took = append(took, last.Sub(begin))
	}
	return used / (listeners * rounds), median(took), nil
}

type streamBench struct {
	changer

	open    sync.WaitGroup
	arrived chan time.Time
}

// listen opens all streams, and returns when each of them has its first frame.
func (b *streamBench) listen(ctx context.Context, ours *apiProcess) error {
	address := strings.TrimSuffix(ours.url, "/api/signals/"+b.def.ID) + "/api/stream?topics=signal"
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	ready := make(chan error, listeners)
	for n := range listeners {
		b.open.Go(func() { b.follow(ctx, client, address, n/streamsOfOne, ready) })
		if n%100 == 99 { // the queue of new connections is short
			for range 100 {
				if err := <-ready; err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// follow reads a stream until ctx ends. It sends to ready once, and then the time of each event.
func (b *streamBench) follow(ctx context.Context, client *http.Client, address string, from int, ready chan<- error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		ready <- err
		return
	}
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("8.%d.%d.7", from/250, from%250))
	resp, err := client.Do(r)
	if err != nil {
		ready <- err
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		ready <- fmt.Errorf("the stream: %s", resp.Status)
		return
	}
	lines := bufio.NewReaderSize(resp.Body, 1024)
	for first := true; ; {
		line, err := lines.ReadSlice('\n')
		at := b.now()
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue // the rest of a long line
		case err != nil:
			return
		case first && len(line) == 1:
			first = false
			ready <- nil
		case strings.HasPrefix(string(line), "event: "):
			b.arrived <- at
		}
	}
}

// changesOfBlock is how many commits come before the other side's turn.
const changesOfBlock = 10

// push returns the times of all listeners for some commits.
func (b *streamBench) push(ctx context.Context) (waits []time.Duration, err error) {
	for range changesOfBlock {
		committed, err := b.commit(ctx)
		if err != nil {
			return nil, err
		}
		for range listeners {
			select {
			case at := <-b.arrived:
				waits = append(waits, at.Sub(committed))
			case <-time.After(30 * time.Second):
				return nil, fmt.Errorf("commit %d has not reached every listener after 30 s", b.done)
			}
		}
		if err := pause(ctx, streamPause); err != nil {
			return nil, err
		}
	}
	return waits, nil
}

// readOne returns the times of a session that waits for some commits. The listeners get them, too, and are waited for in between.
func (b *streamBench) readOne(ctx context.Context) (waits []time.Duration, err error) {
	for range changesOfBlock {
		got, err := b.readPush(ctx)
		if err != nil {
			return nil, err
		}
		waits = append(waits, got)
		for range listeners {
			select {
			case <-b.arrived:
			case <-time.After(30 * time.Second):
				return nil, fmt.Errorf("commit %d has not reached every listener after 30 s", b.done)
			}
		}
		if err := pause(ctx, streamPause); err != nil {
			return nil, err
		}
	}
	return waits, nil
}

// readPush commits once, and returns how long after it a session that waits has read its row.
func (b *streamBench) readPush(ctx context.Context) (time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listens, got := make(chan int64, 1), make(chan time.Time, 1)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	var after int64
	listening.Go(func() {
		_ = b.worker.Listen(ctx, postgres.Listener{
			Channels: []string{postgres.ChannelPushes},
			Connected: func(ctx context.Context) error {
				_, newest, err := b.worker.PushRange(ctx)
				if err == nil {
					after = newest
					listens <- newest
				}
				return err
			},
			Notified: func(ctx context.Context, _, _ string) error {
				list, err := b.worker.Pushes(ctx, after, nil, 1)
				if err == nil && len(list) > 0 {
					got <- b.now()
				}
				return err
			},
			Log: slog.New(slog.DiscardHandler),
		}) // nil, when ctx has ended
	})
	select {
	case <-listens:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	committed, err := b.commit(ctx)
	if err != nil {
		return 0, err
	}
	select {
	case at := <-got:
		return at.Sub(committed), nil
	case <-time.After(30 * time.Second):
		return 0, fmt.Errorf("commit %d is not read after 30 s", b.done)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
