package audit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// readerOf returns a reader of a server, and the count of its requests.
func readerOf(t *testing.T, total int64, h http.HandlerFunc) (*Reader, *atomic.Int64) {
	t.Helper()
	asked := new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); h(w, r) }))
	t.Cleanup(s.Close)
	r, err := NewReader(s.URL, total)
	if err != nil {
		t.Fatal(err)
	}
	return r, asked
}

func TestAReaderFollowsAServerNowhereElse(t *testing.T) {
	t.Parallel()
	_, inside := readerOf(t, 1, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	elsewhere := ""
	r, _ := readerOf(t, 1<<20, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) })
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	t.Cleanup(other.Close)
	elsewhere = other.URL + "/metadata"
	if _, _, err := r.Raw(t.Context(), "/raw/x", 1<<10); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("a redirect to another address: %v", err)
	}
	for _, path := range []string{"@" + strings.TrimPrefix(other.URL, "http://") + "/x", "x", "", ".evil.example/", ":1/x"} {
		if _, _, err := r.Raw(t.Context(), path, 1<<10); err == nil {
			t.Errorf("the path %q is asked for", path)
		}
	}
	if n := inside.Load(); n != 0 {
		t.Errorf("the server elsewhere was asked %d times", n)
	}
}

func TestAllAnswersOfAReaderTogetherAreBounded(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	fmt.Fprintf(zip, `{"label":%q}`, strings.Repeat("a", 30<<20))
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	r, asked := readerOf(t, 10<<10, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
			return
		}
		fmt.Fprintf(w, `{"label":%q}`, strings.Repeat("a", 1<<10))
	})
	var into struct{ Label string }
	if err := r.JSON(t.Context(), "/bomb", 4<<10, &into); err == nil || !strings.Contains(err.Error(), "more than 4096 bytes") {
		t.Errorf("a page of 30 MB: %v", err)
	}
	var err error
	for err == nil && asked.Load() < 100 {
		err = r.JSON(t.Context(), "/page", 4<<10, &into)
	}
	if err == nil || asked.Load() > 12 {
		t.Errorf("%d pages were read: %v", asked.Load(), err)
	}
}

func TestATextOfManyEmptyMembersIsNotDecoded(t *testing.T) {
	t.Parallel()
	var list []struct{ A, B, C string }
	if err := Decode([]byte("["+strings.Repeat("{},", maxValues)+"{}]"), &list); err == nil || len(list) > 0 {
		t.Errorf("%d members were decoded", len(list))
	}
	// Commas within texts are no members.
	if err := Decode([]byte(`[{"a":"`+strings.Repeat(`\",[{`, maxValues)+`"}]`), &list); err != nil || len(list) != 1 {
		t.Errorf("one long text: %v", err)
	}
}

func TestAServerThatAsksToWaitIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	r, asked := readerOf(t, 1<<20, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "99999999999999999999")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	r.waited = maxWaited // all pauses were taken
	status, _, err := r.Raw(t.Context(), "/raw/x", 1<<10)
	if err != nil || status != http.StatusTooManyRequests || asked.Load() != 1 {
		t.Errorf("%d after %d requests: %v", status, asked.Load(), err)
	}
}
