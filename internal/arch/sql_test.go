package arch

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// touched holds the names that statements read and write.
type touched struct{ reads, writes set }

func (t touched) add(other touched) {
	maps.Copy(t.reads, other.reads)
	maps.Copy(t.writes, other.writes)
}

type set map[string]bool

func (s set) String() string { return strings.Join(slices.Sorted(maps.Keys(s)), ", ") }

// schema holds the tables, the views, and the functions of the migrations with what their bodies touch.
type schema struct {
	tables    set
	functions map[string]touched
}

var (
	created    = regexp.MustCompile(`\bcreate (?:or replace )?(?:unlogged )?(table|view|function)(?: if not exists)? ([a-z_0-9]+)`)
	body       = regexp.MustCompile(`(?s)\bas\s+(\$\$.*?\$\$|'.*?')`)
	sqlRemark  = regexp.MustCompile(`--[^\n]*`)
	sqlText    = regexp.MustCompile(`'[^']*'`)
	sqlToken   = regexp.MustCompile(`[a-z_][a-z_0-9]*|[(),;]`)
	expression = regexp.MustCompile(`\b([a-z_0-9]+)(?: \([a-z_0-9, ]+\))? as (?:not )?(?:materialized )?\(`)
)

// readSchema reads the migrations in their order. The last definition of a function counts.
func readSchema(t *testing.T) schema {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "migrations/*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	s := schema{tables: set{}, functions: map[string]touched{}}
	bodies := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		up = sqlRemark.ReplaceAllString(strings.ToLower(up), "")
		for _, at := range created.FindAllStringSubmatchIndex(up, -1) {
			name := up[at[4]:at[5]]
			if up[at[2]:at[3]] != "function" {
				s.tables[name] = true
				continue
			}
			bodies[name] = ""
			if m := body.FindStringSubmatch(up[at[0]:]); m != nil {
				bodies[name] = strings.Trim(m[1], "$'")
			}
			s.functions[name] = touched{set{}, set{}}
		}
	}
	for grown := true; grown; { // until the functions that call others have all that these touch
		grown = false
		for name, text := range bodies {
			old, all := s.functions[name], s.statement(text)
			grown = grown || len(all.reads) > len(old.reads) || len(all.writes) > len(old.writes)
			s.functions[name] = all
		}
	}
	return s
}

// statement returns the tables that a text of SQL touches, directly or in the functions that it calls. It leaves out what triggers do.
func (s schema) statement(text string) touched {
	text = sqlText.ReplaceAllString(sqlRemark.ReplaceAllString(strings.ToLower(text), ""), "")
	local := set{}
	for _, m := range expression.FindAllStringSubmatch(text, -1) {
		local[m[1]] = true
	}
	tokens := sqlToken.FindAllString(text, -1)
	at := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return tokens[i]
	}
	all := touched{set{}, set{}}
	for i, token := range tokens {
		next := i + 1
		for slices.Contains([]string{"only", "lateral", "table"}, at(next)) {
			next++
		}
		before := at(i - 1)
		switch {
		case token == "into" && before == "insert", token == "from" && before == "delete", token == "update" && before != "for" && before != "key",
			token == "truncate", token == "copy":
			if s.tables[at(next)] {
				all.writes[at(next)] = true
			}
		case token == "from" && before != "distinct", token == "join", token == "using":
			for {
				if s.tables[at(next)] && !local[at(next)] {
					all.reads[at(next)] = true
				}
				next++
				if at(next) == "as" {
					next++
				}
				if at(next) != "," {
					next++ // an alias
				}
				if at(next) != "," {
					break
				}
				next++
			}
		case at(i+1) == "(":
			all.add(s.functions[token])
		}
	}
	return all
}

func TestStatementsAreReadAsTheServerReadsThem(t *testing.T) {
	t.Parallel()
	s := schema{
		tables:    set{"keys": true, "runs": true, "usage": true, "picks": true, "world": true},
		functions: map[string]touched{"charge": {set{"world": true}, set{"usage": true}}},
	}
	for _, test := range []struct{ statement, reads, writes string }{
		{"select 1 from keys", "keys", ""},
		{"select from keys\n\t\twhere id = 1", "keys", ""},
		{"select from keys k, runs as r, usage join lateral (select from picks) p on true", "keys, picks, runs, usage", ""},
		{"select from keys join runs using (id)", "keys, runs", ""},
		{"with keys as (select from picks) select from keys", "picks", ""},
		{"with mine as materialized (select from runs for update skip locked) update runs r set a = 1 from mine", "runs", "runs"},
		{"insert into runs (a) select a from keys on conflict (a) do update set a = 2", "keys", "runs"},
		{"delete from only runs using keys where a is distinct from usage", "keys", "runs"},
		{"select from runs for no key update of runs", "runs", ""},
		{"select outcome from charge(1, 'from picks') -- from keys", "world", "usage"},
		{"truncate table runs", "", "runs"},
		{"SELECT FROM Keys", "keys", ""},
	} {
		got := s.statement(test.statement)
		if got.reads.String() != test.reads || got.writes.String() != test.writes {
			t.Errorf("%s: reads %q and writes %q, want %q and %q", test.statement, got.reads, got.writes, test.reads, test.writes)
		}
	}
}
