package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Family is a metric whose values are read when someone asks for them: how something stands, where Metrics counts what happens.
type Family struct {
	// Name ends in _total where the values only grow, and then they are a counter's.
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

// readTimeout bounds one reading: Prometheus itself gives a process ten seconds.
const readTimeout = 5 * time.Second

// Watch adds families whose values read returns. It is called for each scrape, possibly at the same time as another. Where it fails,
// the families are missing in that scrape.
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
	// any is one of them: what fails fails under its name.
	any *prometheus.Desc
}

func (w watcher) Describe(to chan<- *prometheus.Desc) {
	for _, d := range w.descs {
		to <- d
	}
}

func (w watcher) Collect(to chan<- prometheus.Metric) {
	// A collector is given no context: its own bounds the reading.
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
