package view

import (
	"time"

	"tidemark/signals"
)

// State is the data of all signals at one moment. It is immutable.
type State struct {
	// Catalog is the SignalCatalog as a document.
	Catalog *Document
	// Signals are all signals in the order of their definitions, with any status.
	Signals []*Signal
	// Environment is "live" or "demo". World is the world's name. Disclaimer is the disclaimer of pages that are not about one signal.
	Environment, World, Disclaimer string

	byID map[string]*Signal
}

// Signal is one signal in a state.
type Signal struct {
	Definition signals.Definition
	Snapshot   SignalSnapshot
	// History contains all points as of the snapshot.
	History *History
	// JSON is the Snapshot as a document. Brief is the method in Markdown.
	JSON, Brief *Document
	// Markdown is the text of Brief.
	Markdown string
}

// Signal returns the signal with an id, or nil.
func (s *State) Signal(id string) *Signal { return s.byID[id] }

// render builds and stores a new state. It keeps a signal of the previous state if current returns true for it. The caller holds mu.
func (v *View) render(current func(*Signal) bool) error {
	now := v.o.Now()
	before := v.State()
	st := &State{
		Environment: v.o.environment(),
		World:       v.o.World,
		Disclaimer:  v.o.disclaimer(v.o.World == WorldSandbox),
		byID:        make(map[string]*Signal, len(v.o.Definitions)),
	}
	catalog := SignalCatalog{
		Product: Product, Signals: []SignalCatalogEntry{}, Environment: st.Environment, Disclaimer: st.Disclaimer,
	}
	var modified time.Time
	for _, d := range v.o.Definitions {
		var s *Signal
		if before != nil {
			s = before.Signal(d.ID)
		}
		if s == nil || !current(s) {
			var err error
			if s, err = v.o.signal(d, v.held[d.ID], now); err != nil {
				return err
			}
		}
		st.Signals = append(st.Signals, s)
		st.byID[d.ID] = s
		if s.Snapshot.Status != signals.StatusLive {
			continue
		}
		catalog.Signals = append(catalog.Signals, v.o.catalogEntry(s.Snapshot))
		if t := s.Snapshot.IngestedAt; t != nil && t.After(modified) {
			modified = *t
		}
	}
	catalog.Count = len(catalog.Signals)
	body, err := Encode(catalog)
	if err != nil {
		return err
	}
	st.Catalog = NewDocument(TypeJSON, CachePublic, body, modified)
	v.state.Store(st)
	v.changed.wake()
	return nil
}

// signal builds the responses of one signal.
func (o Options) signal(d signals.Definition, h cachedSignal, now time.Time) (*Signal, error) {
	s := &Signal{Definition: d, Snapshot: o.snapshot(d, h.snapshot, h.bodies, now), History: h.history}
	body, err := Encode(s.Snapshot)
	if err != nil {
		return nil, err
	}
	var modified time.Time
	if s.Snapshot.IngestedAt != nil {
		modified = *s.Snapshot.IngestedAt
	}
	s.JSON = NewDocument(TypeJSON, CachePublic, body, modified)
	s.Markdown = brief(d, s.Snapshot)
	s.Brief = NewDocument(TypeMarkdown, CachePublic, []byte(s.Markdown), time.Time{})
	return s, nil
}
