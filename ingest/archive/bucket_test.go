package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tidemark/ingest"
)

// s3 is a server for S3's protocol, with one bucket.
type s3 struct {
	t        *testing.T
	objects  *s3mem.Backend
	location string
	// broken makes the server answer everything with that status.
	broken atomic.Int32
}

const bucketName = "tide-archive"

func newS3(t *testing.T) *s3 {
	t.Helper()
	s := &s3{t: t, objects: s3mem.New()}
	if err := s.objects.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	h := gofakes3.New(s.objects, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := s.broken.Load(); status != 0 {
			w.WriteHeader(int(status))
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.location = "s3://" + bucketName + "?region=eu-central-1&anonymous=true&use_path_style=true&prefix=live/&endpoint=" + server.URL
	return s
}

// held are the contents of all objects by their names.
func (s *s3) held() map[string]string {
	s.t.Helper()
	list, err := s.objects.ListBucket(bucketName, nil, gofakes3.ListBucketPage{})
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]string{}
	for _, o := range list.Contents {
		got, err := s.objects.GetObject(bucketName, o.Key, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		body, err := io.ReadAll(got.Contents)
		if err != nil {
			s.t.Fatal(err)
		}
		out[o.Key] = string(body)
	}
	return out
}

func TestABucketKeepsBodiesByTheirDigest(t *testing.T) {
	t.Parallel()
	server := newS3(t)
	s := open(t, server.location)
	long := bytes.Repeat([]byte("2026-03-02,1.25\r\n"), 1000)
	for _, body := range [][]byte{[]byte("abc"), long, {}} {
		var digests [4]string
		var writers sync.WaitGroup
		for i := range digests { // several workers store the same answer
			writers.Go(func() {
				var err error
				if digests[i], err = s.Put(t.Context(), body); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		got, err := open(t, server.location).Get(t.Context(), digests[0]) // another process
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("got %d bytes and error %v, want the %d that were put", len(got), err, len(body))
		}
	}
	var plain, zipped int
	for name, stored := range server.held() {
		if !strings.HasPrefix(name, "live/blobs/") {
			t.Errorf("the bucket has %s, want everything below live/blobs", name)
		}
		if strings.HasSuffix(name, ".gz") && len(stored) < len(long)/10 {
			zipped++
		} else {
			plain++
		}
	}
	if plain != 2 || zipped != 1 {
		t.Errorf("the bucket has %d plain objects and %d compressed ones, want 2 and 1", plain, zipped)
	}
	if got := server.held()["live/blobs/ba/"+abc]; got != "abc" {
		t.Errorf("live/blobs/ba/%s holds %q", abc, got)
	}
}

func TestABrokenObjectIsNamedAndReplaced(t *testing.T) {
	t.Parallel()
	server := newS3(t)
	s := open(t, server.location)
	if _, err := s.Get(t.Context(), abc); !errors.Is(err, ingest.ErrNotArchived) {
		t.Errorf("of a body that is not there: %v, want that it is not archived", err)
	}
	name := "live/blobs/ba/" + abc
	if _, err := server.objects.PutObject(bucketName, name, nil, strings.NewReader("abX"), 3, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), abc); !errors.Is(err, ingest.ErrNotArchived) || !strings.Contains(err.Error(), abc) {
		t.Errorf("of a broken body: %v, want that it is not archived, with its digest", err)
	}
	if _, err := s.Put(t.Context(), []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{name: "abc"}, server.held()); d != "" {
		t.Errorf("the bucket (-want +got):\n%s", d)
	}
}

func TestABucketThatRefusesIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	server := newS3(t)
	s := open(t, server.location)
	server.broken.Store(http.StatusForbidden)
	if _, err := s.Get(t.Context(), abc); err == nil || errors.Is(err, ingest.ErrNotArchived) {
		t.Errorf("read: %v, want an error that does not say that the body is not there", err)
	}
	if _, err := s.Put(t.Context(), []byte("abc")); err == nil {
		t.Error("a body is said to be kept that the server refused")
	}
	server.broken.Store(0)
	missing := open(t, strings.Replace(server.location, bucketName, "nothing", 1))
	if _, err := missing.Put(t.Context(), []byte("abc")); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("into a bucket that is not there: %v", err)
	}
	given, stop := context.WithTimeout(t.Context(), time.Minute)
	stop()
	if _, err := s.Put(given, []byte("abc")); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was given up: %v", err)
	}
	if got := server.held(); len(got) != 0 {
		t.Errorf("the bucket has %v, want nothing", got)
	}
}
