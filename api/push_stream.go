package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/pushes"
)

const (
	// heartbeat is the pause before a quiet stream sends a comment, so that proxies keep it open and dead connections are noticed.
	heartbeat = 15 * time.Second
	// frameTimeout is how long a client may take to receive a heartbeat, and what was sent before it.
	frameTimeout = 10 * time.Second
	// hubTimeout is how long a stream waits for a process that has just begun.
	hubTimeout = 10 * time.Second
	// maxStreamSeconds is the longest time that a client can ask for.
	maxStreamSeconds = 3600
	// feedLength is the number of entries of the Atom feed.
	feedLength = 100
)

// topics parses the list of topics. An empty list means all.
func (p *parameters) topics(known func(id string) bool) []string {
	text := p.text("topics")
	if text == "" {
		return nil
	}
	var list []string
	for topic := range strings.SplitSeq(text, ",") {
		id, signal := strings.CutPrefix(topic, "signal:")
		if !slices.Contains([]string{"signal", "pick", "event", "forecast"}, topic) && (!signal || !known(id)) {
			p.fault("topics", "topics can be signal, signal:ID with the id of a signal, pick, event or forecast, separated by commas.")
			return nil
		}
		list = append(list, topic)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (s *Server) knownSignal(id string) bool {
	st := s.view.State()
	return st != nil && st.Signal(id) != nil
}

// pushStream serves what becomes known as server-sent events. With Last-Event-ID it first sends what came after that event.
func (s *Server) pushStream(w http.ResponseWriter, r *http.Request) error {
	if !accepts(r.Header["Accept"], "text", "event-stream") {
		return &problemError{code: view.CodeNotAcceptable, detail: "This is served as text/event-stream only."}
	}
	if hasBody(r) {
		return &problemError{code: view.CodeInvalidRequest, detail: "Ask for a stream without a body."}
	}
	p := s.parameters(r)
	topics := p.topics(func(id string) bool { return s.view.State() == nil || s.knownSignal(id) }) // a process that has just begun knows no signal
	after, resumed := p.cursorOfStream(r)
	seconds := p.number("seconds", maxStreamSeconds)
	if err := p.err(); err != nil {
		return err
	}
	if err := s.limitHistory(w, r); err != nil {
		return postpone(w, r, err)
	}
	reader, err := s.pushes.open(topics, clientNetwork(s.client(r)), after)
	again := errors.Is(err, errStops)
	if err != nil && !again {
		return postpone(w, r, err)
	}
	loaded := s.pushes.isLoaded()
	if !again {
		defer s.pushes.close(reader)
	}
	if !again && loaded && reader.ahead {
		again = s.checkAhead(r.Context(), reader) != nil
	}
	begin(w)
	if r.Method == http.MethodHead {
		return nil
	}
	ctx := r.Context()
	if seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	stream := &eventStream{w: w, control: http.NewResponseController(w)}
	stream.extend()
	if again {
		// The server stops, or the database is unavailable: the client reconnects, and a proxy asks another server then. A browser would never
		// reconnect after an error.
		_ = stream.send([]byte("retry: 2000\n\n"))
		return nil
	}
	if !loaded && !s.awaitHub(ctx, stream, reader) {
		return nil
	}
	if !resumed || reader.unknown {
		after = reader.start
	}
	stream.last = after
	// The id without data sets the client's Last-Event-ID, so that it can resume before its first event.
	if stream.send(fmt.Appendf(nil, "retry: 2000\nid: %d\n\n", after)) != nil || reader.unknown && stream.gap(after) != nil {
		return nil
	}
	if s.replay(ctx, stream, reader) {
		stream.follow(ctx, reader)
	}
	return nil
}

// begin writes the header of a stream.
func begin(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", view.CacheNever)
	h.Set("X-Accel-Buffering", "no") // a proxy passes each event on at once
	w.WriteHeader(http.StatusOK)
}

// postpone tells a client when to come again. A client that accepts nothing but a stream, as the EventSource of a browser, cannot read a
// problem, and an EventSource never reconnects after an error. It gets a stream that ends at once, with the pause before the next attempt.
func postpone(w http.ResponseWriter, r *http.Request, err error) error {
	var f *problemError
	if !errors.As(err, &f) || f.retryAfter == "" || accepts(r.Header["Accept"], "application", "problem+json") {
		return err
	}
	w.Header().Set("Retry-After", f.retryAfter)
	begin(w)
	if r.Method != http.MethodHead {
		_, _ = fmt.Fprintf(w, ": %s\nretry: %s000\n\n", f.detail, f.retryAfter)
	}
	return nil
}

// checkAhead checks a cursor beyond what this process has seen. Another process may have sent it already: then the stream starts there. If no
// event has it, the database was set back to an earlier time: then the stream starts at the present. A browser would never come again after an
// error.
func (s *Server) checkAhead(ctx context.Context, reader *pushReader) error {
	_, newest, err := s.o.Pushes.PushRange(ctx)
	if err != nil {
		return err
	}
	if reader.after > newest {
		s.pushes.restart(reader)
	}
	return nil
}

// awaitHub waits until the hub is loaded, for hubTimeout at most, and reports whether the stream can continue. The client has the response's
// header already: a browser would never come again after an error. If the stream ends here, it comes again in two seconds.
func (s *Server) awaitHub(ctx context.Context, e *eventStream, reader *pushReader) bool {
	if e.send([]byte("retry: 2000\n\n")) != nil {
		return false
	}
	timeout := time.NewTimer(hubTimeout)
	defer timeout.Stop()
	select {
	case <-s.pushes.loaded:
	case <-reader.gone:
		return false
	case <-timeout.C:
		return false
	case <-ctx.Done():
		return false
	}
	e.extend()
	return !reader.ahead || s.checkAhead(ctx, reader) == nil
}

// cursorOfStream returns the cursor to resume after, and whether the client named one. The header wins: a browser sets it when it reconnects.
func (p *parameters) cursorOfStream(r *http.Request) (after int64, named bool) {
	text, name := p.text("after"), "after"
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		text, name = id, "Last-Event-ID"
	}
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		p.fault(name, "%s is not a cursor of this stream: take the id of the last event.", name)
	}
	return n, true
}

// number parses an optional whole number from 1 to limit. It is 0 if it is missing.
func (p *parameters) number(name string, limit int) int {
	text := p.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > limit {
		p.fault(name, "%s is not a whole number from 1 to %d.", name, limit)
	}
	return n
}

// eventStream writes a stream. last is the last cursor that the client has.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    int64
}

// extend moves the connection's deadlines until after the next heartbeat: the server's limits for a request would end the stream. An event does
// not move them, because that would cost about as much as to encode it for the client.
func (e *eventStream) extend() {
	now := time.Now() //nolint:forbidigo // deadlines of a connection are on the wall clock
	_ = e.control.SetReadDeadline(now.Add(heartbeat + 2*frameTimeout))
	_ = e.control.SetWriteDeadline(now.Add(heartbeat + frameTimeout))
}

// send writes bytes at once.
func (e *eventStream) send(b []byte) error {
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	return e.control.Flush()
}

// gap tells the client that the events it missed are no longer stored, and that the stream continues after a cursor.
func (e *eventStream) gap(after int64) error {
	return e.send(fmt.Appendf(nil, "id: %d\nevent: gap\ndata: {\"oldest\":\"%d\"}\n\n", after, after+1))
}

// replay sends what came between the client's cursor and the reader's start. It reports whether the stream can continue.
func (s *Server) replay(ctx context.Context, e *eventStream, reader *pushReader) bool {
	if e.last >= reader.start {
		return true
	}
	oldest, _, err := s.o.Pushes.PushRange(ctx)
	if err != nil {
		return false // the client tries again
	}
	if e.last < oldest-1 {
		// The rows before are deleted: the client is told, instead of taking a part for the whole.
		if e.gap(oldest-1) != nil {
			return false
		}
		e.last = oldest - 1
	}
	for e.last < reader.start {
		rows, err := s.o.Pushes.Pushes(ctx, e.last, reader.topics, pushPage)
		if err != nil {
			return false
		}
		var frames []byte
		for _, row := range rows {
			if row.ID > reader.start {
				break // these come through the reader
			}
			e.last = row.ID
			if p := s.pushes.readable(ctx, row, "replay"); p != nil {
				frames = append(frames, p.frame...)
			}
		}
		e.extend()
		if len(frames) > 0 && e.send(frames) != nil {
			return false
		}
		if len(rows) < pushPage || rows[len(rows)-1].ID > reader.start {
			break
		}
	}
	return true
}

// follow sends events until the client, the hub or ctx ends the stream.
func (e *eventStream) follow(ctx context.Context, reader *pushReader) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-reader.gone:
			// Too slow, or the process ends. The client resumes after the last event that was sent.
			_ = e.send(fmt.Appendf(nil, "event: dropped\ndata: {\"resume_after\":\"%d\"}\n\n", e.last))
			return
		case <-beat.C:
			e.extend()
			if e.send([]byte(": \n\n")) != nil {
				return
			}
		case p := <-reader.events:
			frames := p.frame
			e.last = p.id
			if len(reader.events) > 0 {
				frames = slices.Clone(frames) // all readers share the frame
			}
			for len(reader.events) > 0 && len(frames) < chunk {
				p = <-reader.events
				frames, e.last = append(frames, p.frame...), p.id
			}
			if e.send(frames) != nil {
				return
			}
		}
	}
}

// changesFeed serves the newest changes as an Atom feed.
func (s *Server) changesFeed(w http.ResponseWriter, r *http.Request) error {
	p := s.parameters(r)
	topics := p.topics(s.knownSignal)
	if err := p.err(); err != nil {
		return err
	}
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	rows, err := s.o.Pushes.NewestPushes(r.Context(), topics, feedLength)
	if err != nil {
		return err
	}
	list := make([]pushes.Change, 0, len(rows))
	for _, row := range rows {
		c, err := s.view.NewChange(row, s.o.Free)
		if err != nil {
			s.pushes.unreadable(r.Context(), row, "feed", err)
			continue
		}
		list = append(list, c)
	}
	self := s.view.PublicURL() + feedPath
	if len(topics) > 0 {
		self += "?topics=" + strings.Join(topics, ",")
	}
	doc, err := s.view.ChangesFeed(self, list)
	if err != nil {
		return err
	}
	return send(w, r, "application", "atom+xml", doc)
}

const streamPath, feedPath = "/api/stream", "/api/stream/atom"
