package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Family is a metric whose values are read at each scrape. It shows a state, while Metrics counts events.
type Family struct {
	// Name ends in _total for a counter, whose values only grow.
	Name, Help string
	Labels     []string
	Counter    bool
}

// Reading is one value of a family, with the values of its labels.
type Reading struct {
	Of     *Family
	Value  float64
	Labels []string
}

// readTimeout limits one reading. Prometheus itself waits ten seconds by default.
const readTimeout = 5 * time.Second

// Watch adds families whose values read returns. Watch calls read at each scrape, possibly for several scrapes at the same time. If read
// fails, the families are missing in that scrape.
func (m *Metrics) Watch(read func(context.Context) ([]Reading, error), families ...*Family) {
	if m == nil {
		return
	}
	w := watcher{read: read, descs: map[*Family]*prometheus.Desc{}}
	for _, f := range families {
		w.any = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
		w.descs[f] = w.any
	}
	m.registry.MustRegister(w)
}

type watcher struct {
	read  func(context.Context) ([]Reading, error)
	descs map[*Family]*prometheus.Desc
	// any is one of the families: errors are reported under its name.
	any *prometheus.Desc
}

func (w watcher) Describe(to chan<- *prometheus.Desc) {
	for _, d := range w.descs {
		to <- d
	}
}

func (w watcher) Collect(to chan<- prometheus.Metric) {
	// A collector receives no context, so it limits the reading itself.
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	list, err := w.read(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(w.any, err)
		return
	}
	for _, r := range list {
		kind := prometheus.GaugeValue
		if r.Of.Counter {
			kind = prometheus.CounterValue
		}
		to <- prometheus.MustNewConstMetric(w.descs[r.Of], kind, r.Value, r.Labels...)
	}
}
