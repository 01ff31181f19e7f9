package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestTheErrorOfARoleIsALineOfTheLog(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"api", "--world=moon"},                     // the command line is wrong
		{"api", "--concurrency=1"},                  // a flag of another command
		{"api", "--database-url=mysql://h/d"},       // a setting is wrong
		{"worker", "--state-dir=/dev/null/nothing"}, // the command fails
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			text, last := bothFormats(t, args)
			var line struct{ Time, Level, Msg, Err string }
			if err := json.Unmarshal([]byte(last), &line); err != nil {
				t.Fatalf("%q: %v", last, err)
			}
			if line.Level != "ERROR" || line.Time == "" || line.Msg == "" || "tidemark: "+line.Err != text {
				t.Errorf("as JSON: %s\nas text: %s", last, text)
			}
		})
	}
}

func TestTheErrorOfACommandForPeopleIsText(t *testing.T) {
	t.Parallel()
	if text, last := bothFormats(t, []string{"backfill", "plan", "--from=yesterday"}); last != text {
		t.Errorf("with LOG_FORMAT=json it says %q, want %q", last, text)
	}
}

// bothFormats runs a command that fails, and returns its error with LOG_FORMAT=text and its last line with LOG_FORMAT=json.
func bothFormats(t *testing.T, args []string) (text, last string) {
	t.Helper()
	var asText, asJSON bytes.Buffer
	code := run(t.Context(), slices.Concat(args, []string{"--log-format=text"}), io.Discard, &asText)
	if again := run(t.Context(), slices.Concat(args, []string{"--log-format=json"}), io.Discard, &asJSON); again != code || code == 0 {
		t.Errorf("exit status %d with text, %d with JSON", code, again)
	}
	lines := strings.Split(strings.TrimSpace(asJSON.String()), "\n")
	return strings.TrimSpace(asText.String()), lines[len(lines)-1]
}
