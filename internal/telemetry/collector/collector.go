// Package collector is an OpenTelemetry collector for tests: a real server of OTLP over HTTP that stores the spans that it receives. Only
// tests use it. Start at New.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that a process has sent.
type Span struct {
	// Trace, ID and Parent are lower-case hex. The parent of a trace's first span is empty.
	Trace, ID, Parent string
	Name              string
	// Kind is the protocol's word without its prefix: INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER.
	Kind string
	// Error is the text of a span that ended in an error.
	Error string
	// Attributes and Resource are the attributes of the span and of its process, with values as text.
	Attributes, Resource map[string]string
	// Links are the linked traces.
	Links []string
}

// Collector is a running server. It is safe for concurrent use.
type Collector struct {
	// URL is the value for OTEL_EXPORTER_OTLP_ENDPOINT.
	URL string

	mu          sync.Mutex
	spans       []Span
	header      http.Header
	unavailable bool
}

// New starts a collector that ends with the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.export)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// SetDown makes the collector reject all exports, with a status that clients do not retry, or accept them again.
func (c *Collector) SetDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unavailable = down
}

// Spans returns the spans received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Header returns the header fields of the newest request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header.Clone()
}

func (c *Collector) export(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = r.Header
	if c.unavailable {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	raw, err := io.ReadAll(body)
	var sent service.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(raw, &sent)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "it is no export of traces", http.StatusBadRequest)
		return
	}
	for _, process := range sent.GetResourceSpans() {
		for _, scope := range process.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				one := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(), Kind: s.GetKind().String()[len("SPAN_KIND_"):],
					Error: s.GetStatus().GetMessage(), Attributes: texts(s.GetAttributes()),
					Resource: texts(process.GetResource().GetAttributes()),
				}
				for _, l := range s.GetLinks() {
					one.Links = append(one.Links, hex.EncodeToString(l.GetTraceId()))
				}
				c.spans = append(c.spans, one)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	answer, _ := proto.Marshal(&service.ExportTraceServiceResponse{}) // an empty message
	_, _ = w.Write(answer)
}

func texts(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[kv.GetKey()] = v.StringValue
		case *common.AnyValue_BoolValue:
			out[kv.GetKey()] = strconv.FormatBool(v.BoolValue)
		case *common.AnyValue_IntValue:
			out[kv.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		case *common.AnyValue_DoubleValue:
			out[kv.GetKey()] = strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
		}
	}
	return out
}
