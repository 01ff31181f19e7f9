package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// recordingSink is a sink that keeps what it is handed: pages as the last part of their address, ends of chains as words.
type recordingSink struct {
	got  []string
	page func(f ingest.Fetched)
}

func (k *recordingSink) Page(_ context.Context, f ingest.Fetched) {
	if k.page != nil {
		k.page(f)
	}
	k.got = append(k.got, f.Fetch.URL[strings.LastIndex(f.Fetch.URL, "/"):])
}

func (k *recordingSink) EndChain(_ context.Context, complete bool) {
	k.got = append(k.got, map[bool]string{true: "complete", false: "broken"}[complete])
}

// chains serves three chains of three pages each, /a0 to /c2; the page named broken does not exist.
func chains(t *testing.T, broken string, asked func(path string)) (*fixture, ingest.Source) {
	t.Helper()
	var base string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked(r.URL.Path)
		if r.URL.Path == broken {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		n, _ := strconv.Atoi(r.URL.Path[2:])
		p := one(fmt.Sprintf("2026-03-%02d", n+1), float64(n))
		if n < 2 {
			p.Next = fmt.Sprintf("%s%s%d", base, r.URL.Path[:2], n+1)
		}
		write(w, p)
	})
	base = s.URL
	return newRig(s.Client().Transport), feed(s.URL+"/a0", s.URL+"/b0", s.URL+"/c0")
}

func TestASinkIsHandedPagesInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact, broken string
		want         []string
	}{
		{"all of them", "", []string{"/a0", "/a1", "/a2", "complete", "/b0", "/b1", "/b2", "complete", "/c0", "/c1", "/c2", "complete"}},
		{"and told where a chain broke", "/b2", []string{"/a0", "/a1", "/a2", "complete", "/b0", "/b1", "broken", "/c0", "/c1", "/c2", "complete"}},
		{"also when it never began", "/b0", []string{"/a0", "/a1", "/a2", "complete", "broken", "/c0", "/c1", "/c2", "complete"}},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			r, src := chains(t, c.broken, func(string) {})
			var k recordingSink
			err := r.Stream(t.Context(), src, series.Window{}, 7, &k)
			if (err != nil) != (c.broken != "") {
				t.Errorf("error %v", err)
			}
			if d := cmp.Diff(c.want, k.got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			// The pages of the complete chains equal the result of Collect.
			again, src := chains(t, c.broken, func(string) {})
			collected, _ := again.collect(t, src)
			var urls []string
			for _, f := range collected {
				urls = append(urls, f.Fetch.URL[strings.LastIndex(f.Fetch.URL, "/"):])
			}
			want := slices.DeleteFunc(c.want, func(s string) bool {
				return !strings.HasPrefix(s, "/") || c.broken != "" && strings.HasPrefix(s, "/b")
			})
			if d := cmp.Diff(want, urls); d != "" {
				t.Errorf("collected (-want +got):\n%s", d)
			}
		})
	}
}

func TestTheNextPageIsFetchedWhileASinkWorks(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	r, src := chains(t, "", func(path string) { asked <- path })
	k := recordingSink{page: func(f ingest.Fetched) {
		if !strings.HasSuffix(f.Fetch.URL, "/a0") {
			return
		}
		for path := range asked { // the sink's work on the first page lasts until the second is asked for
			if path == "/a1" {
				return
			}
		}
	}}
	done := make(chan error, 1)
	go func() { done <- r.Stream(t.Context(), src, series.Window{}, 7, &k) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the second page is not asked for before the sink is done with the first")
	}
}

func TestASinkThatBreaksBreaksItsCaller(t *testing.T) {
	t.Parallel()
	r, src := chains(t, "", func(string) {})
	defer func() {
		if p := recover(); p != "full" {
			t.Errorf("recovered %v, want the sink's own panic", p)
		}
	}()
	_ = r.Stream(t.Context(), src, series.Window{}, 7, &recordingSink{page: func(ingest.Fetched) { panic("full") }})
	t.Error("the panic was kept from the caller")
}
