package api

import (
	"log/slog"
	"testing"
)

func TestASlowReaderIsDroppedAndOthersGetEverything(t *testing.T) {
	t.Parallel()
	h := newPushHub(Options{Log: slog.New(slog.DiscardHandler)})
	close(h.loaded)
	slow, err := h.open(nil, "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	quick, err := h.open([]string{"signal"}, "b", 0)
	if err != nil {
		t.Fatal(err)
	}
	const n = streamBacklog + 10
	for i := range int64(n) {
		h.pass(&pushed{id: i + 1, topic: "signal:x"})
		if p := <-quick.events; p.id != i+1 {
			t.Fatalf("the quick reader gets %d, want %d", p.id, i+1)
		}
	}
	select {
	case <-slow.gone:
	default:
		t.Error("the slow reader is not dropped")
	}
	if len(slow.events) != streamBacklog {
		t.Errorf("the slow reader holds %d events, want %d", len(slow.events), streamBacklog)
	}
	if all, of := h.streams.Open("b"); len(h.readers) != 1 || all != 1 || of != 1 {
		t.Errorf("left are %d readers, %d streams, %d of the quick one", len(h.readers), all, of)
	}
	h.close(slow) // again
	h.close(quick)
	if all, _ := h.streams.Open("b"); len(h.readers) != 0 || all != 0 {
		t.Errorf("left are %d readers, %d streams", len(h.readers), all)
	}
}

func TestTheNumberOfStreamsIsBounded(t *testing.T) {
	t.Parallel()
	h := newPushHub(Options{Log: slog.New(slog.DiscardHandler)})
	close(h.loaded)
	for i := range maxStreams {
		if _, err := h.open(nil, string(rune('a'+i/maxStreamsOfOne)), 0); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := h.open(nil, "another", 0); err == nil {
		t.Error("one stream more is opened")
	}
	h.end()
	if _, err := h.open(nil, "another", 0); err == nil || len(h.readers) != 0 {
		t.Errorf("after the end there are %d readers (%v)", len(h.readers), err)
	}
}
