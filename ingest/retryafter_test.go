package ingest

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterHeader(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		fact, value, date string
		want              time.Duration
	}{
		{"absent", "", "", 0},
		{"seconds", "120", "", 2 * time.Minute},
		{"zero seconds", "0", "", 0},
		{"negative seconds", "-5", "", 0},
		{"a day at most", "31536000", "", 24 * time.Hour},
		{"a number beyond all bounds", "99999999999999999999", "", 24 * time.Hour},
		{"a date", "Wed, 04 Mar 2026 12:05:00 GMT", "", 5 * time.Minute},
		{"a date in the past", "Wed, 04 Mar 2026 11:00:00 GMT", "", 0},
		{"a date, counted from the answer's own", "Wed, 04 Mar 2026 09:00:10 GMT", "Wed, 04 Mar 2026 09:00:00 GMT", 10 * time.Second},
		{"a date years ahead", "Wed, 04 Mar 2037 12:00:00 GMT", "", 24 * time.Hour},
		{"the old form of a date", "Wednesday, 04-Mar-26 12:00:07 GMT", "", 7 * time.Second},
		{"nonsense", "soon", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			h := http.Header{"Retry-After": {tt.value}, "Date": {tt.date}}
			if got := retryAfter(h, now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
