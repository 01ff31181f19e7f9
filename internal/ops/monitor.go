package ops

import (
	"net/http"

	"github.com/hibiken/asynqmon"

	"tidemark/internal/redisurl"
)

// MonitorPath is the path of the queue's monitor.
const MonitorPath = "/queue"

// Monitor is the queue library's own monitor. It shows queues and tasks and changes nothing.
//
// It is hibiken/asynqmon v0.7.2, the newest version. The module has been quiet since 2023 and requires old versions of the queue library
// and of go-redis, but it builds and works with ours (a test checks it). Its forks differ only in these two lines, so they are not worth
// another owner. Only this file uses the module.
type Monitor struct{ handler *asynqmon.HTTPHandler }

// NewMonitor returns the monitor of a Redis, below a path.
func NewMonitor(at redisurl.Redis, path string) *Monitor {
	return &Monitor{asynqmon.New(asynqmon.Options{RootPath: path, RedisConnOpt: at, ReadOnly: true})}
}

// monitorPolicy keeps the monitor's page from loading anything from other hosts: it refers to Google's fonts. Its own scripts and styles
// are inline in the page.
const monitorPolicy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP serves the monitor. It removes X-Content-Type-Options because the monitor labels its JSON as text.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Del("X-Content-Type-Options")
	w.Header().Set("Content-Security-Policy", monitorPolicy)
	m.handler.ServeHTTP(w, r)
}

// Close ends the connections.
func (m *Monitor) Close() error { return m.handler.Close() }
