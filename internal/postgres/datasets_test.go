package postgres_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

func TestADataSetIsALeafWithTheHashOfWhatItSaysOfItself(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"a log that is there": true, "a log that begins later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sealing{newRecord(t, "2026-03-02"), newTestSigner(t, "test.example/log")}
			begin := func() { s.s.begin(t, s.db, postgres.LogRecord) }
			if before {
				begin()
			}
			if err := exec(t, s.url, "", `insert into datasets (day, as_of, tables) values ('2026-02-27', '2026-02-27 05:30Z', '[]')`); err != nil {
				t.Fatal(err) // a set from before there were leaves
			}
			content := []byte("PAR1 <chain> PAR1")
			sum := sha256.Sum256(content)
			digest := hex.EncodeToString(sum[:])
			asOf := time.Date(2026, 3, 2, 5, 30, 0, 123_000, time.UTC)
			set := postgres.Dataset{Day: "2026-03-02", AsOf: asOf, Tables: []postgres.DatasetTable{{Name: "chain", Title: "Links & hashes", SHA256: digest, Bytes: 17, Rows: 3}}}
			for _, want := range []bool{true, false} {
				if added, err := s.db.SaveDataset(t.Context(), task.Fence{}, set, map[string][]byte{digest: content}); err != nil || added != want {
					t.Fatalf("added: %t, %v; want %t", added, err, want)
				}
			}
			if !before {
				begin()
			}
			if got, err := s.db.DatasetOf(t.Context(), ""); err != nil || got.LogIndex != nil || got.Contents == nil {
				t.Fatalf("before a checkpoint: %+v, %v", got, err)
			}
			s.sequence()
			leaves := s.leaves()
			if len(leaves) != 2 || leaves[1].Kind != tlog.KindDataset {
				t.Fatalf("leaves %v", kindsOf(leaves))
			}
			got, err := s.db.DatasetOf(t.Context(), "2026-03-02")
			if err != nil || got.LogIndex == nil || *got.LogIndex != 1 {
				t.Fatalf("in the log: %+v, %v", got, err)
			}
			leaf := leaves[1]
			if leaf.Get("date") != "2026-03-02" || leaf.Get("as_of") != tlog.FormatTime(asOf) || leaf.Get("files") != "1" ||
				leaf.Get("sha256") != fmt.Sprintf("%x", sha256.Sum256([]byte(*got.Contents))) || !leaf.At().Equal(got.PublishedAt) {
				t.Errorf("the leaf is %+v, and the set %+v", leaf, got)
			}
			var said struct {
				Date  string
				AsOf  time.Time `json:"as_of"`
				Files []struct{ Path, Title, SHA256 string }
			}
			if err := json.Unmarshal([]byte(*got.Contents), &said); err != nil {
				t.Fatal(err)
			}
			if said.Date != "2026-03-02" || !said.AsOf.Equal(asOf) || len(said.Files) != 1 || said.Files[0].Path != "chain.parquet" ||
				said.Files[0].SHA256 != digest || said.Files[0].Title != "Links & hashes" {
				t.Errorf("the set says of itself %s", *got.Contents)
			}
			if old, err := s.db.DatasetOf(t.Context(), "2026-02-27"); err != nil || old.Contents != nil || old.LogIndex != nil {
				t.Errorf("a set from before: %+v, %v", old, err)
			}
			if err := exec(t, s.url, postgres.RoleWorker, `update datasets set contents = 'other'`); err == nil {
				t.Error("the worker changes what a set says of itself")
			}
		})
	}
}

func TestALeafOfADataSetHasOneForm(t *testing.T) {
	t.Parallel()
	_, url, _ := logFixture(t)
	good, err := tlog.FormatLeaf(tlog.KindDataset, "2026-03-02", "2026-03-02T05:30:00.000000Z", fmt.Sprintf("%x", sha256.Sum256(nil)), "8", "2026-03-02T05:31:00.000000Z")
	if err != nil {
		t.Fatal(err)
	}
	known := func(leaf string, want bool) {
		t.Helper()
		sql := fmt.Sprintf(`do $$ begin assert log_leaf_known(decode('%x', 'hex')) = %t; end $$`, leaf, want)
		if err := exec(t, url, "", sql); err != nil {
			t.Errorf("%q is known: not %t (%v)", leaf, want, err)
		}
	}
	known(string(good), true)
	known(string(good)+"\n", false)
	known(string(good)+string(good), false)
	for i := range good {
		changed := append([]byte(nil), good...)
		changed[i] = '~'
		_, err := tlog.ParseLeaf(changed)
		known(string(changed), err == nil)
	}
}
