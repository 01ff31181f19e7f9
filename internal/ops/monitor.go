package ops

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"

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

// monitorPolicy keeps the monitor's page from loading anything from other hosts. Its own scripts and styles are inline in the page.
const monitorPolicy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP serves the monitor. It removes X-Content-Type-Options because the monitor labels its JSON as text.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Del("X-Content-Type-Options")
	w.Header().Set("Content-Security-Policy", monitorPolicy)
	page := &monitorPage{ResponseWriter: w}
	m.handler.ServeHTTP(page, r)
	page.finish()
}

// foreignLink matches a link to another host: the monitor's page refers to Google's fonts.
var foreignLink = regexp.MustCompile(`<link\b[^>]*\bhref="(?:https?:)?//[^>]*>`)

// monitorPage holds a page back until it is whole, to serve it without links to other hosts. Other answers pass.
type monitorPage struct {
	http.ResponseWriter

	html bytes.Buffer
	pass bool
}

func (p *monitorPage) WriteHeader(status int) {
	p.pass = true // only pages come without an explicit status
	p.ResponseWriter.WriteHeader(status)
}

func (p *monitorPage) Write(b []byte) (int, error) {
	if p.html.Len() == 0 && !p.pass {
		kind := p.Header().Get("Content-Type")
		if kind == "" {
			kind = http.DetectContentType(b)
		}
		p.pass = !strings.HasPrefix(kind, "text/html")
	}
	if p.pass {
		return p.ResponseWriter.Write(b)
	}
	return p.html.Write(b)
}

func (p *monitorPage) finish() {
	if p.html.Len() > 0 {
		p.Header().Del("Content-Length")
		_, _ = p.ResponseWriter.Write(foreignLink.ReplaceAll(p.html.Bytes(), nil))
	}
}

// Close ends the connections.
func (m *Monitor) Close() error { return m.handler.Close() }
