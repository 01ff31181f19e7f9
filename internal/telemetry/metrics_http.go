package telemetry

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// httpMetrics counts requests. A response from memory takes microseconds. So the cells of a route are in a map that is replaced as a whole
// when a route is added, which avoids hashing label texts.
type httpMetrics struct {
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	inFlight prometheus.Gauge

	mu    sync.Mutex
	cells atomic.Pointer[map[cell]counted]
}

type cell struct {
	route, method string
	status        int
}

type counted struct {
	requests prometheus.Counter
	took     prometheus.Observer
}

func (h *httpMetrics) register(r *prometheus.Registry) {
	h.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tidemark_http_requests_total", Help: "Requests that were answered.",
	}, []string{"route", "method", "code"})
	h.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tidemark_http_request_duration_seconds", Help: "How long answers took, until their last byte was handed to the system.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15},
	}, []string{"route"})
	h.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tidemark_http_in_flight_requests", Help: "Requests that are being answered.",
	})
	r.MustRegister(h.requests, h.took, h.inFlight)
}

// BeginRequest counts a request in flight, and returns its start time.
func (m *Metrics) BeginRequest() time.Time {
	if m == nil {
		return time.Time{}
	}
	m.http.inFlight.Inc()
	return m.now()
}

// EndRequest counts a response. route is the pattern that matched the request. A method that HTTP does not define is counted as "other".
func (m *Metrics) EndRequest(route, method string, status int, began time.Time) {
	if m == nil {
		return
	}
	m.http.inFlight.Dec()
	c := m.http.cell(cell{route, known(method), status})
	c.requests.Inc()
	c.took.Observe(m.now().Sub(began).Seconds())
}

func (h *httpMetrics) cell(c cell) counted {
	if all := h.cells.Load(); all != nil {
		if found, ok := (*all)[c]; ok {
			return found
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[cell]counted{}
	if old := h.cells.Load(); old != nil {
		maps.Copy(all, *old)
	}
	all[c] = counted{h.requests.WithLabelValues(c.route, c.method, strconv.Itoa(c.status)), h.took.WithLabelValues(c.route)}
	h.cells.Store(&all)
	return all[c]
}

func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
