package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark/internal/postgres"
)

func TestEveryVersionOfAMethodIsALeafOnce(t *testing.T) {
	t.Parallel()
	s := newSealing(t, "2026-03-02")
	m := postgres.Method{Name: "picks", Version: "1", Status: postgres.MethodAdopted, SHA256: strings.Repeat("a", 64), Note: "the score of the picks"}
	record := func(m postgres.Method, want bool) {
		t.Helper()
		if added, err := s.db.RecordMethod(t.Context(), m); err != nil || added != want {
			t.Errorf("%+v: added %v, %v", m, added, err)
		}
	}
	var wg sync.WaitGroup
	for range 8 { // workers that start together
		wg.Go(func() {
			if _, err := s.db.RecordMethod(t.Context(), m); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	record(m, false)
	tried := m
	tried.Status, tried.Version, tried.SHA256 = postgres.MethodTried, "2", strings.Repeat("b", 64)
	record(tried, true)
	record(tried, false)
	second := tried
	second.Status = postgres.MethodAdopted
	record(second, true)
	record(m, true) // back to the first: that is news
	bad := m
	bad.Version, bad.Note = "3", "two\nlines"
	if _, err := s.db.RecordMethod(t.Context(), bad); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("two lines: %v", err)
	}
	s.append("AAPL", "451.10", "2026-03-02")
	s.sequence()
	leaves := s.leaves()
	if got := kindsOf(leaves); !slices.Equal(got, []string{"genesis", "method", "method", "method", "method", "seal"}) {
		t.Fatalf("leaves %v", got)
	}
	if got := leaves[5].Get("method"); got != "picks/1" {
		t.Errorf("the seal's method is %s", got)
	}
	list, err := s.db.Methods(t.Context())
	if err != nil || len(list) != 4 || list[0].LogIndex == nil || *list[0].LogIndex != 4 || list[3].Version != "1" {
		t.Errorf("methods %+v, %v", list, err)
	}
	if err := exec(t, s.url, postgres.RoleWorker, `insert into methods (name, version, status, sha256, note) select name, version, status, sha256, note from methods`); err == nil {
		t.Error("the worker writes rows by itself")
	}
	if err := exec(t, s.url, "", fmt.Sprintf(`delete from methods where version = '%s'`, m.Version)); err == nil {
		t.Error("a version is forgotten")
	}
}

func TestALogThatBeginsHasTheMethodsThatWereThere(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	if _, err := r.db.RecordMethod(t.Context(), postgres.Method{
		Name: "picks", Version: "1", Status: postgres.MethodTried, SHA256: strings.Repeat("a", 64), Note: "a note",
	}); err != nil {
		t.Fatal(err)
	}
	s := &sealing{r, newTestSigner(t, "test.example/log")}
	s.s.begin(t, r.db, postgres.LogRecord)
	s.sequence()
	if got := kindsOf(s.leaves()); !slices.Equal(got, []string{"genesis", "method"}) {
		t.Errorf("leaves %v", got)
	}
}
