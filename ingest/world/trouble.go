package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
)

// Faults that can be set for a sandbox's publisher.
const (
	Late        = "late"      // it publishes nothing new
	Revised     = "revised"   // its newest figures are others than before
	Malformed   = "malformed" // it answers with a page for people
	Shrunk      = "shrunk"    // its history is missing, except for the last year
	Unavailable = "away"      // it is down
)

// Trouble is a fault of a sandbox's publisher.
type Trouble struct {
	// Source is the source that meets it.
	Source string `json:"source"`
	Kind   string `json:"kind"`
	// Since is when it began, and Until when it ends, in the world's time; zero: when it is cleared.
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"`
	By    string    `json:"by"`
}

// ReadTroubles reads a file of faults. A missing file means no faults.
func ReadTroubles(path string) (list []Trouble, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read the troubles of the sandbox (%s): %w", path, err)
	}
	return list, nil
}

// SaveTroubles writes such a file, whole or not at all.
func SaveTroubles(path string, list []Trouble) error {
	b, err := json.MarshalIndent(append([]Trouble{}, list...), "", "  ")
	if err != nil {
		return fmt.Errorf("save the troubles of the sandbox: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("save the troubles of the sandbox: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("save the troubles of the sandbox: %w", err)
	}
	return nil
}

// TroubledOptions are the options of a sandbox with faults.
type TroubledOptions struct {
	// World is the world that the publishers draw from; Handler makes their handler.
	World   synth.World
	Handler func(synth.World) http.Handler
	// Latency passes before each answer.
	Latency time.Duration
	// Path is the file of the troubles. It is read before each request, so other processes write it.
	Path string
}

// Troubled answers as Sandbox does, and as the troubles of the file say: a request is in trouble when the source that asks it is.
func Troubled(o TroubledOptions) http.RoundTripper {
	return &troubled{o: o, made: map[Trouble]http.RoundTripper{{}: o.transport(Trouble{})}}
}

type troubled struct {
	o    TroubledOptions
	mu   sync.Mutex
	made map[Trouble]http.RoundTripper // the zero trouble means no fault
}

// RoundTrip answers one request.
func (t *troubled) RoundTrip(r *http.Request) (*http.Response, error) {
	list, err := ReadTroubles(t.o.Path)
	if err != nil {
		closeBody(r)
		return nil, err
	}
	now, source := t.o.World.Now(), ingest.AskedBy(r.Context())
	var with Trouble
	for _, one := range list {
		if one.Source == source && !one.Since.After(now) && (one.Until.IsZero() || now.Before(one.Until)) {
			with = one
			with.Since, with.Until, with.By = one.Since.UTC(), time.Time{}, ""
		}
	}
	return t.with(with).RoundTrip(r)
}

func (t *troubled) with(one Trouble) http.RoundTripper {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made[one] == nil {
		t.made[one] = t.o.transport(one)
	}
	return t.made[one]
}

// transport is a sandbox with one trouble.
func (o TroubledOptions) transport(one Trouble) http.RoundTripper {
	w, with := o.World, SandboxOptions{Now: o.World.Now, Latency: o.Latency}
	page := func(status int) func(*http.Request, int) (Fault, bool) {
		return func(*http.Request, int) (Fault, bool) { return ErrorPage(status), true }
	}
	switch one.Kind {
	case Late:
		w.Now = Fixed(one.Since).Now
	case Revised:
		w.Revised = one.Since
	case Shrunk:
		w.Shrunk = one.Since.AddDate(-1, 0, 0)
	case Malformed:
		with.Fault = page(http.StatusOK)
	case Unavailable:
		with.Fault = page(http.StatusServiceUnavailable)
	}
	return Sandbox(o.Handler(w), with)
}

// Without returns a list of faults without a source's faults, and whether it had one.
func Without(list []Trouble, source string) (rest []Trouble, had bool) {
	rest = slices.DeleteFunc(slices.Clone(list), func(t Trouble) bool { return t.Source == source })
	return rest, len(rest) < len(list)
}
