package pushes_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tidemark/internal/pushes"
)

// The stream, its feed and webhooks gave away what /api/v1/events sells.
func TestWhereEventsAreSoldOnlyTheTypeOfOneIsTold(t *testing.T) {
	t.Parallel()
	row := pushes.Row{
		ID: 7, Topic: pushes.TopicEvent, Kind: "happened", Subject: "ACME", At: time.Date(2026, 3, 2, 21, 0, 0, 0, time.UTC),
		Data: json.RawMessage(`{"id":"ev_abc","type":"price_move","severity":4,"ticker":"ACME","occurred_at":"2026-03-02T21:00:00Z","change_pct":-8.25}`),
	}
	text := func(o pushes.Origin) string {
		t.Helper()
		c, err := o.Change(row)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	free := text(pushes.Origin{PublicURL: "https://a.example", Free: true})
	for _, sold := range []string{"ACME", "ev_abc", "severity", "8.25", "occurred_at"} {
		if strings.Contains(free, sold) {
			t.Errorf("it tells %s: %s", sold, free)
		}
		if all := text(pushes.Origin{PublicURL: "https://a.example"}); !strings.Contains(all, sold) {
			t.Errorf("with PAGES=full it lacks %s: %s", sold, all)
		}
	}
	if !strings.Contains(free, `"type":"price_move"`) || !strings.Contains(free, `"url":"https://a.example/api/v1/events"`) {
		t.Errorf("it lacks what is free: %s", free)
	}
}
