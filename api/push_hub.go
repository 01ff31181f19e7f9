package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// PushStore reads the outbox. *postgres.DB implements it.
type PushStore interface {
	Pushes(ctx context.Context, after int64, topics []string, limit int) ([]postgres.Push, error)
	NewestPushes(ctx context.Context, topics []string, limit int) ([]postgres.Push, error)
	PushRange(ctx context.Context) (oldest, newest int64, err error)
	Listen(ctx context.Context, l postgres.Listener) error
}

const (
	// maxStreams is the maximum number of streams of a process, and maxStreamsOfOne the maximum of one address.
	maxStreams, maxStreamsOfOne = 10_000, 32
	// streamBacklog is how many events may wait for a slow reader.
	streamBacklog = 256
	// pushPage is how many rows of the outbox are read at once.
	pushPage = 500
)

// pushed is a row of the outbox as its readers receive it. Its frame, a whole event, is shared by all of them.
type pushed struct {
	id    int64
	topic string
	frame []byte
}

// pushReader is an open stream.
type pushReader struct {
	// events receives what follows the cursor start. gone is closed when the hub drops the reader: it was too slow, or the process ends.
	events chan *pushed
	gone   chan struct{}
	topics []string
	// leave makes room for another stream.
	leave func()
	// after is the cursor that the client named. start is not known before the hub is loaded. ahead reports whether the client's
	// cursor is newer than the hub's last row. The reader then starts at the client's cursor.
	after, start int64
	ahead        bool
	// unknown reports that no event has the client's cursor: the reader starts at the present.
	unknown bool
}

// begin sets where a reader starts, if the hub has seen everything up to last.
func (r *pushReader) begin(last int64) {
	r.start, r.ahead = max(last, r.after), r.after > last
}

// pushHub passes the rows of the outbox on to open streams. Each row is read and encoded once. It is safe for concurrent use.
type pushHub struct {
	store PushStore
	view  *view.View
	log   *slog.Logger
	// free withholds what is sold.
	free    bool
	metrics *telemetry.Metrics
	// loaded is closed when the hub knows where the outbox ends.
	loaded chan struct{}

	mu      sync.Mutex
	ended   bool
	last    int64
	readers map[*pushReader]struct{}
	streams *view.ConcurrencyLimiter
}

func newPushHub(o Options) *pushHub {
	return &pushHub{
		store: o.Pushes, view: o.View, free: o.Free, metrics: o.Metrics, log: o.Log, loaded: make(chan struct{}), readers: map[*pushReader]struct{}{},
		streams: view.NewConcurrencyLimiter(maxStreams, maxStreamsOfOne),
	}
}

// isLoaded reports whether the hub knows where the outbox ends.
func (h *pushHub) isLoaded() bool {
	select {
	case <-h.loaded:
		return true
	default:
		return false
	}
}

// run passes rows on until ctx ends. Then it ends all streams and returns nil.
func (h *pushHub) run(ctx context.Context) error {
	defer h.end()
	return h.store.Listen(ctx, postgres.Listener{
		Channels:  []string{postgres.ChannelPushes},
		Connected: h.load,
		Notified:  func(ctx context.Context, _, _ string) error { return h.load(ctx) },
		Log:       h.log,
	})
}

// load reads what is new. The first time it only finds out where the outbox ends.
func (h *pushHub) load(ctx context.Context) error {
	if !h.isLoaded() {
		_, newest, err := h.store.PushRange(ctx)
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.last = newest
		for r := range h.readers {
			r.begin(newest)
		}
		close(h.loaded)
		return nil
	}
	h.mu.Lock()
	last := h.last
	h.mu.Unlock()
	for {
		rows, err := h.store.Pushes(ctx, last, nil, pushPage)
		if err != nil {
			return err
		}
		for _, row := range rows {
			last = row.ID
			if p := h.readable(ctx, row, "stream"); p != nil {
				h.pass(p)
			} else {
				h.leaveOut(last)
			}
		}
		if len(rows) < pushPage {
			return nil
		}
	}
}

// readable encodes a row, or returns nil if it cannot be read: it is left out, so that it holds up nothing else. place is who reads it.
func (h *pushHub) readable(ctx context.Context, row postgres.Push, place string) *pushed {
	p, err := h.frame(row)
	if err != nil {
		h.unreadable(ctx, row, place, err)
		return nil
	}
	return p
}

// unreadable records that a row is left out.
func (h *pushHub) unreadable(ctx context.Context, row postgres.Push, place string, err error) {
	h.metrics.Unreadable(place)
	h.log.ErrorContext(ctx, "a change cannot be read and is left out", "cursor", row.ID, "topic", row.Topic, "place", place, "err", err)
}

// leaveOut moves the hub past a row that no client receives.
func (h *pushHub) leaveOut(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = id
}

// frame encodes a row as a server-sent event.
func (h *pushHub) frame(row postgres.Push) (*pushed, error) {
	c, err := h.view.NewChange(row, h.free)
	if err != nil {
		return nil, err
	}
	data, err := view.Encode(c) // one line, with its end
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(row.Topic, ":")
	return &pushed{row.ID, row.Topic, fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n", row.ID, name, data)}, nil
}

// pass gives an event to all readers of its topic. It waits for none of them.
func (h *pushHub) pass(p *pushed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = p.id
	for r := range h.readers {
		if p.id <= r.start || !wants(r.topics, p.topic) {
			continue
		}
		select {
		case r.events <- p:
		default:
			h.drop(r)
		}
	}
}

// drop ends a stream. The caller holds the lock.
func (h *pushHub) drop(r *pushReader) {
	if _, ok := h.readers[r]; !ok {
		return
	}
	delete(h.readers, r)
	r.leave()
	close(r.gone)
}

// wants reports whether a reader of topics gets a topic. No topics mean all.
func wants(topics []string, topic string) bool {
	for _, t := range topics {
		if t == topic || t == "signal" && strings.HasPrefix(topic, "signal:") {
			return true
		}
	}
	return len(topics) == 0
}

// errStops means that the process ends: clients continue elsewhere.
var errStops = errors.New("the server stops")

// open adds a reader of topics for an address, which has what came up to the cursor after. The events after its start come to it. The start is
// known once the hub is loaded.
func (h *pushHub) open(topics []string, from string, after int64) (*pushReader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, errStops
	}
	leave, err := underWay(h.streams, from, "open streams", "", "30")
	if err != nil {
		return nil, err
	}
	r := &pushReader{events: make(chan *pushed, streamBacklog), gone: make(chan struct{}), topics: topics, after: after, leave: leave}
	if h.isLoaded() {
		r.begin(h.last)
	}
	h.readers[r] = struct{}{}
	return r, nil
}

// restart lets a reader whose cursor no event has start at the present.
func (h *pushHub) restart(r *pushReader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.start, r.ahead, r.unknown = h.last, false, true
}

// close removes a reader.
func (h *pushHub) close(r *pushReader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(r)
}

// end ends all streams: the process stops, and clients continue elsewhere.
func (h *pushHub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for r := range h.readers {
		h.drop(r)
	}
}
