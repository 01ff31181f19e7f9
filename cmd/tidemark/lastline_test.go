package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestTheErrorOfACommandIsALineOfTheLog(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"api", "--world=moon"},                        // the command line is wrong
		{"api", "--concurrency=1"},                     // a flag of another command
		{"api", "--database-url=mysql://h/d"},          // a setting is wrong
		{"worker", "--state-dir=/dev/null/nothing"},    // the command fails
		{"runs", "--database-url=postgres://h:x/db"},   // a command that is not a role
		{"worker", "--tiingo-api-key=a\nb", "--help0"}, // text of several lines
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			var asText, asJSON bytes.Buffer
			code := run(t.Context(), append(args, "--log-format=text"), io.Discard, &asText)
			if again := run(t.Context(), append(args, "--log-format=json"), io.Discard, &asJSON); again != code || code == 0 {
				t.Errorf("exit status %d with text, %d with JSON", code, again)
			}
			lines := strings.Split(strings.TrimSpace(asJSON.String()), "\n")
			var last struct{ Time, Level, Msg, Err string }
			for _, line := range lines {
				if err := json.Unmarshal([]byte(line), &last); err != nil {
					t.Errorf("%q: %v", line, err)
				}
			}
			text := asText.String()
			if !strings.Contains(text, "tidemark: ") {
				t.Errorf("as text: %q", text)
			}
			_, want, _ := strings.Cut(strings.TrimSpace(text), "tidemark: ")
			if last.Level != "ERROR" || last.Time == "" || last.Msg == "" || last.Err != want {
				t.Errorf("as JSON: %s\nas text: %s", lines[len(lines)-1], text)
			}
		})
	}
}
