package ingest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark/ingest"
)

func TestAgain(t *testing.T) {
	t.Parallel()
	of := func(k ingest.Kind, after time.Duration) error {
		return &ingest.Error{Kind: k, Source: "feed", URL: "https://upstream.example/", RetryAfter: after, Err: errors.New("cause")}
	}
	tests := []struct {
		fact  string
		err   error
		again bool
		after time.Duration
	}{
		{"no error", nil, false, 0},
		{"passing trouble", of(ingest.Temporary, 0), true, 0},
		{"passing trouble with a time", of(ingest.Temporary, time.Minute), true, time.Minute},
		{"a refusal", of(ingest.Refused, 0), false, 0},
		{"too much", of(ingest.TooLarge, 0), false, 0},
		{"a page for humans", of(ingest.WrongType, 0), true, 0},
		{"a page half published", of(ingest.Layout, 0), true, 0},
		{"a refusal, wrapped", fmt.Errorf("run 7: %w", of(ingest.Refused, 0)), false, 0},
		{"only refusals", errors.Join(of(ingest.Refused, 0), of(ingest.TooLarge, 0)), false, 0},
		{"one of many may pass", errors.Join(of(ingest.Refused, 0), of(ingest.Temporary, time.Hour), of(ingest.Temporary, time.Minute)), true, time.Hour},
		{"our own trouble", errors.New("database is away"), true, 0},
		{"our own trouble, wrapped", fmt.Errorf("record: %w", errors.New("database is away")), true, 0},
		{"joined and wrapped", fmt.Errorf("a: %w", errors.Join(of(ingest.Refused, 0), fmt.Errorf("b: %w", of(ingest.Layout, 0)))), true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			if again, after := ingest.Retryable(tt.err); again != tt.again || after != tt.after {
				t.Errorf("got %t, %s, want %t, %s", again, after, tt.again, tt.after)
			}
		})
	}
}
