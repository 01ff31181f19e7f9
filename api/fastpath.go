package api

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"

	"tidemark/api/fastpath"
	"tidemark/api/view"
)

// fastAnswers serves requests for the newest snapshots on the fast path, before net/http: the catalog and each signal, whole, compressed or
// not modified. It sends exactly what the handlers of the same paths send. It serves nothing while the database is unavailable, because a
// response header must report that.
type fastAnswers struct {
	s *Server
	// base is the path of the catalog: /api/signals, or empty if the signals are served at the root.
	base  string
	table atomic.Pointer[fastTable]
}

// fastTable holds the responses for one state, by path. It is immutable.
type fastTable struct {
	of      *view.State
	answers map[string]*fastDocument
}

type fastDocument struct {
	// route is the pattern of the handler. The metrics count the responses under it.
	route string
	doc   *view.Document
	forms map[*view.Representation]fastEncoding
}

// fastEncoding holds the response heads for a representation: everything except Date and X-Request-Id.
type fastEncoding struct{ whole, notModified []byte }

func (f *fastAnswers) answer(r *fastpath.Request, b []byte) ([]byte, bool) {
	st := f.s.view.State()
	if st == nil || f.s.degraded() {
		return b, false
	}
	table := f.table.Load()
	if table == nil || table.of != st {
		table = f.build(st) // two goroutines may both build it, with the same result
		f.table.Store(table)
	}
	d := table.answers[string(r.Path)]
	if d == nil || !takesJSON(r.Accept) {
		return b, false
	}
	began := f.s.o.Metrics.BeginRequest()
	rep, status := representation(values(r.IfNoneMatch), values(r.AcceptEncoding), d.doc)
	form := d.forms[rep]
	head, body := form.whole, rep.Body
	if status == http.StatusNotModified {
		head, body = form.notModified, nil
	}
	b = append(append(b, head...), r.Date...)
	b = appendRequestID(append(b, "X-Request-Id: "...))
	b = append(b, "\r\n\r\n"...)
	b = append(b, body...)
	f.s.o.Metrics.EndRequest(d.route, http.MethodGet, status, began)
	return b, true
}

func takesJSON(accept []byte) bool {
	if accept == nil || string(accept) == "*/*" {
		return true
	}
	return accepts(values(accept), "application", "json")
}

// values returns a header field in the form that net/http uses.
func values(field []byte) []string {
	if field == nil {
		return nil
	}
	return []string{string(field)}
}

func (f *fastAnswers) build(st *view.State) *fastTable {
	t := &fastTable{of: st, answers: map[string]*fastDocument{}}
	add := func(path, route string, doc *view.Document) {
		d := &fastDocument{route: route, doc: doc, forms: map[*view.Representation]fastEncoding{}}
		for _, rep := range []*view.Representation{&doc.Identity, &doc.Gzip} {
			if rep.Tail == nil {
				d.forms[rep] = f.form(rep)
			}
		}
		if len(d.forms) == 2 {
			t.answers[path] = d
		}
	}
	add(f.base+"/", f.base+"/{$}", st.Catalog)
	if f.base != "" {
		add(f.base, f.base, st.Catalog)
	}
	for _, sig := range st.Signals {
		add(f.base+"/"+sig.Definition.ID, f.base+"/{id}", sig.JSON)
	}
	return t
}

func (f *fastAnswers) form(rep *view.Representation) fastEncoding {
	fields := http.Header{}
	for _, some := range []http.Header{f.s.security, corsFields, rep.Header} {
		maps.Copy(fields, some)
	}
	whole := head(http.StatusOK, fields)
	dropContent(fields)
	return fastEncoding{whole: whole, notModified: head(http.StatusNotModified, fields)}
}

// head returns the start of a response. The caller can append header fields.
func head(status int, fields http.Header) []byte {
	var b bytes.Buffer
	_, _ = fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	_ = fields.Write(&b) // writing to a buffer cannot fail
	return b.Bytes()
}
