package postgres

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

func over(p *pgxpool.Pool) *DB {
	one := &pool{Pool: p, may: undone}
	return newDB(&connections{pool: one, reads: one.reading()})
}

// reading matches a statement of the pool for reads, or the name of its text.
var reading = regexp.MustCompile("\\.reads\\.Query(?:Row)?\\(ctx, (?:`([^`]*)`|(\\w+)SQL)")

// Statements of the pool for reads may run twice, so none of them may change anything.
func TestWhatIsReadChangesNothing(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		} else if !strings.HasSuffix(file, "_test.go") {
			all.Write(text)
		}
	}
	changes := regexp.MustCompile(`(?i)\b(insert|update|delete|truncate|share|nextval|pg_advisory\w*|pg_notify)\b` +
		`|\b(open|close|revoke|store|claim|charge|count|quote|x402|claims|register|rotate|begin|keep)_\w+\(`)
	found := reading.FindAllStringSubmatch(all.String(), -1)
	for _, m := range found {
		text := m[1]
		if m[2] != "" { // sql is built in place
			text = ""
			if c := regexp.MustCompile("const " + m[2] + " = `([^`]*)`").FindStringSubmatch(all.String()); c != nil {
				text = c[1]
			}
		}
		if word := changes.FindString(text); word != "" {
			t.Errorf("%q changes something:\n%s", word, text)
		}
	}
	if len(found) < 80 {
		t.Errorf("%d statements were found", len(found))
	}
}
