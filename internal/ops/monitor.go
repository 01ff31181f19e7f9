package ops

import (
	"net/http"

	"github.com/hibiken/asynqmon"

	"tidemark/internal/redisurl"
)

// MonitorPath is where the queue's monitor is.
const MonitorPath = "/queue"

// Monitor is the queue library's own monitor: queues and tasks to look at, and nothing to change.
//
// It is hibiken/asynqmon v0.7.2, the newest there is. The module has been quiet since 2023 and names old versions of the queue library and
// of go-redis, but it builds and answers with ours (a test asks it), so the forks, which differ from it in these two lines, are not
// worth another owner. All that knows it is in this file.
type Monitor struct{ handler *asynqmon.HTTPHandler }

// NewMonitor is the monitor of a Redis, below a path.
func NewMonitor(at redisurl.Redis, path string) *Monitor {
	return &Monitor{asynqmon.New(asynqmon.Options{RootPath: path, RedisConnOpt: at, ReadOnly: true})}
}

// monitorPolicy keeps the monitor's page from loading anything from elsewhere: it names fonts of Google's. Its own scripts and styles
// stand in the page.
const monitorPolicy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP serves the monitor. Its answers are JSON that it calls text.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Del("X-Content-Type-Options")
	w.Header().Set("Content-Security-Policy", monitorPolicy)
	m.handler.ServeHTTP(w, r)
}

// Close ends the connections.
func (m *Monitor) Close() error { return m.handler.Close() }
