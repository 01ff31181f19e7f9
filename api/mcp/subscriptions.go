package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// methodListen opens a stream that says which resources changed. Clients of the revision 2026-07-28 have it, and it needs no session.
const methodListen = "subscriptions/listen"

const (
	// maxStreams is the maximum number of open streams, and maxStreamsOfOne the maximum of one client.
	maxStreams, maxStreamsOfOne = 2000, 16
	// heartbeat is the pause after which a quiet stream sends a comment, so that proxies keep it open and dead connections are noticed.
	heartbeat = 15 * time.Second
	// frameTimeout is how long a client may take to receive what is sent at once.
	frameTimeout = 5 * time.Second
)

// listen serves a request for a stream, until the client, the server or a write that takes too long ends it.
func (d *Server) listen(w http.ResponseWriter, r *http.Request, id json.RawMessage, client string) {
	done, err := d.streams.Enter(client)
	if err != nil {
		w.Header().Set("Retry-After", "30")
		refuse(w, http.StatusTooManyRequests, id, jsonrpc.CodeInternalError, fmt.Sprintf("Too many streams are open. A client can have %d.", maxStreamsOfOne))
		return
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	e := &eventWriter{ResponseWriter: &responseRecorder{ResponseWriter: w, id: id}, control: http.NewResponseController(w), failed: cancel}
	ended := make(chan struct{})
	defer func() { <-ended }()
	defer cancel()
	go func() {
		defer close(ended)
		beat := time.NewTicker(heartbeat)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-d.end:
				cancel()
				return
			case <-beat.C:
				e.beat()
			}
		}
	}()
	d.handler.ServeHTTP(e, r.WithContext(ctx))
}

// eventWriter moves the connection's deadlines before each write: the server's limits for a request would end the stream. It calls failed
// after a write that failed.
type eventWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	failed  func()

	mu      sync.Mutex
	started bool
}

func (e *eventWriter) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = true
	return e.write(p)
}

// Flush sends what was written.
func (e *eventWriter) Flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.control.Flush() != nil {
		e.failed()
	}
}

// beat sends a comment, once the stream has begun.
func (e *eventWriter) beat() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.started {
		return
	}
	if _, err := e.write([]byte(": \n\n")); err == nil && e.control.Flush() != nil {
		e.failed()
	}
}

// write writes bytes within the limit. The caller holds the lock.
func (e *eventWriter) write(p []byte) (int, error) {
	now := time.Now() //nolint:forbidigo // deadlines of a connection are on the wall clock
	_ = e.control.SetReadDeadline(now.Add(2*heartbeat + frameTimeout))
	_ = e.control.SetWriteDeadline(now.Add(frameTimeout))
	n, err := e.ResponseWriter.Write(p)
	if err != nil {
		e.failed()
	}
	return n, err
}

// subscribe checks that a resource is one whose changes are told.
func (d *Server) subscribe(uri string) error {
	known := uri == d.base+signalsPath || uri == d.base+chainPath
	for _, def := range d.o.Definitions {
		known = known || uri == d.base+signalsPath+"/"+def.ID
	}
	if !known {
		return &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: fmt.Sprintf("No changes of %s are told. Subscribe to %s, to %s/{id} of a signal, or to %s.", quoted(uri), d.base+signalsPath, d.base+signalsPath, d.base+chainPath),
		}
	}
	return nil
}

// Run tells subscribers which resources changed, until ctx ends. Then it ends their streams and returns nil. A subscriber that reads the
// resource then gets the new content.
func (d *Server) Run(ctx context.Context) error {
	defer close(d.end)
	before := map[string]string{}
	for {
		signals, record := d.o.View.Changed(), d.o.Record.Changed()
		for _, c := range d.contents() {
			if old, known := before[c.uri]; known && old != c.tag {
				if err := d.sdk.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: c.uri}); err != nil {
					d.o.Log.WarnContext(ctx, "tell the subscribers of a resource", "uri", c.uri, "err", err)
				}
			}
			before[c.uri] = c.tag
		}
		select {
		case <-ctx.Done():
			return nil
		case <-signals:
		case <-record:
		}
	}
}

// tagged is a resource with a tag that differs when its content does.
type tagged struct{ uri, tag string }

// contents returns the resources that can be subscribed to, as far as they are loaded. The chain counts as changed when a link or what is
// known about it changes, and not each time that it is checked.
func (d *Server) contents() (list []tagged) {
	if st := d.o.View.State(); st != nil {
		list = append(list, tagged{d.base + signalsPath, st.Catalog.Identity.ETag})
		for _, s := range st.Signals {
			list = append(list, tagged{d.base + signalsPath + "/" + s.Definition.ID, s.JSON.Identity.ETag})
		}
	}
	if st := d.o.Record.State(); st != nil {
		list = append(list, tagged{d.base + chainPath, fmt.Sprint(st.Length(), st.Checks())})
	}
	return list
}
