package gitledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/chain"
	"tidemark/chain/gitledger"
)

// worktree writes a ledger of three picks and returns a clone to tamper with.
func worktree(tb testing.TB) string {
	tb.Helper()
	o := options(tb, "")
	appendAll(tb, open(tb, o), picks(tb, 3)...)
	clone := filepath.Join(tb.TempDir(), "clone")
	git(tb, tb.TempDir(), "clone", "--quiet", o.Dir, clone)
	return clone
}

func TestHistoryThatIsNotALedgersIsTold(t *testing.T) {
	t.Parallel()
	next := func(t *testing.T, ticker, date string) string {
		l, err := chain.Next(checkpoint(picks(t, 3)), ticker, "5.00", date)
		if err != nil {
			t.Fatal(err)
		}
		return `{"seq":4,"ticker":"` + ticker + `","price":"5.00","date":"` + date + `","previous_hash":"` + l.PreviousHash +
			`","hash":"` + l.Hash + `","preimage":"` + chain.Preimage(l) + `"}` + "\n"
	}
	for _, tt := range []struct {
		name, says string
		edit       func(t *testing.T, dir string)
	}{
		{"a changed line", "more than to add one line", func(t *testing.T, dir string) { change(t, dir, "chain/picks.ndjson", "101.50", "201.50") }},
		{"a line taken away", "more than to add one line", func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, "chain/picks.ndjson"))
			if err != nil {
				t.Fatal(err)
			}
			change(t, dir, "chain/picks.ndjson", string(b[strings.IndexByte(string(b), '\n')+1:]), "")
		}},
		{"a line put in before", "more than to add one line", func(t *testing.T, dir string) {
			change(t, dir, "chain/picks.ndjson", `{"seq":2`, next(t, "Z", "2025-02-02")+`{"seq":2`)
		}},
		{"two lines in one commit", "more than to add one line", func(t *testing.T, dir string) {
			add(t, dir, "chain/picks.ndjson", next(t, "Z", "2025-02-02")+next(t, "Y", "2025-02-03"))
		}},
		{"a line in each of two files", "more than to add one line", func(t *testing.T, dir string) {
			add(t, dir, "chain/picks.ndjson", next(t, "Z", "2025-02-02"))
			add(t, dir, "chain/gaps.ndjson", `{"date":"2025-01-09","reason":"closed"}`+"\n")
		}},
		{"no line end", "more than to add one line", func(t *testing.T, dir string) {
			add(t, dir, "chain/picks.ndjson", strings.TrimSpace(next(t, "Z", "2025-02-02")))
		}},
		{"a member twice", "not written as a ledger writes it", func(t *testing.T, dir string) {
			add(t, dir, "chain/picks.ndjson", strings.Replace(next(t, "Z", "2025-02-02"), `"ticker"`, `"ticker":"A","ticker"`, 1))
		}},
		{"another preimage than the values", "preimage", func(t *testing.T, dir string) {
			add(t, dir, "chain/picks.ndjson", strings.Replace(next(t, "Z", "2025-02-02"), `"price":"5.00"`, `"price":"6.00"`, 1))
		}},
		{"a gap on no day", "is not a day", func(t *testing.T, dir string) {
			add(t, dir, "chain/gaps.ndjson", `{"date":"2025-02-30","reason":"closed"}`+"\n")
		}},
		{"another environment", "second time", func(t *testing.T, dir string) { change(t, dir, "chain/ledger.json", "demo", "live") }},
		{"the picks taken away", "takes chain/picks.ndjson away", func(t *testing.T, dir string) { git(t, dir, "rm", "--quiet", "chain/picks.ndjson") }},
		{"a commit that records nothing", "records nothing", func(t *testing.T, dir string) {}},
		{"a folder in place of the picks", "takes chain/picks.ndjson away", func(t *testing.T, dir string) {
			git(t, dir, "rm", "--quiet", "chain/picks.ndjson")
			add(t, dir, "README.md", "x")
			if err := os.MkdirAll(filepath.Join(dir, "chain", "picks.ndjson"), 0o755); err != nil {
				t.Fatal(err)
			}
			add(t, dir, "chain/picks.ndjson/x", "x")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := worktree(t)
			tt.edit(t, dir)
			git(t, dir, "commit", "--quiet", "--allow-empty", "-am", "tampered")
			_, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir, Environ: os.Environ()})
			var tampered *gitledger.TamperError
			if !errors.As(err, &tampered) || tampered.Commit != git(t, dir, "rev-parse", "HEAD") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q of the newest commit", err, tt.says)
			}
		})
	}
}

func TestAMergeIsNoLedger(t *testing.T) {
	t.Parallel()
	dir := worktree(t)
	git(t, dir, "checkout", "--quiet", "-b", "side", "HEAD~1")
	git(t, dir, "commit", "--quiet", "--allow-empty", "-m", "side")
	git(t, dir, "checkout", "--quiet", "main")
	git(t, dir, "merge", "--quiet", "--no-edit", "side")
	var tampered *gitledger.TamperError
	if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir, Environ: os.Environ()}); !errors.As(err, &tampered) {
		t.Errorf("error %v", err)
	}
}

// A link that is wrong in itself is well written all the same: the reader hands it over, and the chain tells.
func TestAForgedLedgerReadsAndDoesNotVerify(t *testing.T) {
	t.Parallel()
	dir := worktree(t)
	forged := picks(t, 3)[2].Pick
	l := chain.Link{Seq: 4, Ticker: "Z", Price: "5.00", Date: "2025-02-02", PreviousHash: forged.PreviousHash}
	l.Hash = chain.Hash(l)
	add(t, dir, "chain/picks.ndjson", `{"seq":4,"ticker":"Z","price":"5.00","date":"2025-02-02","previous_hash":"`+l.PreviousHash+
		`","hash":"`+l.Hash+`","preimage":"`+chain.Preimage(l)+`"}`+"\n")
	git(t, dir, "commit", "--quiet", "-m", "forged")
	r, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	var broken *chain.Error
	if _, err := chain.Verify(chain.Each(r.Links())); !errors.As(err, &broken) || broken.Seq != 4 || broken.Field != "previous_hash" {
		t.Errorf("error %v", err)
	}
	if r.Picks[3].Commit.ID != git(t, dir, "rev-parse", "HEAD") {
		t.Errorf("the forged pick's commit is %s", r.Picks[3].Commit.ID)
	}
}

func TestReadingWhatIsNotThere(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	open(t, o)
	if r, err := gitledger.Read(t.Context(), gitledger.Source{Location: o.Dir, Environ: os.Environ()}); err != nil || r.Head != "" || len(r.Picks) != 0 {
		t.Errorf("an empty ledger reads as %+v, %v", r, err)
	}
	for name, location := range map[string]string{"no address": "--help", "a helper program": "ext::sh -c true", "a word": "ledger"} {
		if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: location, Environ: os.Environ()}); err == nil || errors.Is(err, gitledger.ErrPending) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: "file:///nonexistent/ledger.git", Environ: os.Environ()}); !errors.Is(err, gitledger.ErrPending) {
		t.Errorf("a repository that is away: %v", err)
	}
	lost := worktree(t)
	id := git(t, lost, "rev-parse", "HEAD~1:chain/picks.ndjson")
	if err := os.Remove(filepath.Join(lost, ".git", "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: lost, Environ: os.Environ()}); !errors.Is(err, gitledger.ErrDamaged) {
		t.Errorf("a repository that lost an object: %v", err)
	}
	if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: t.TempDir(), Environ: os.Environ()}); err == nil {
		t.Error("a folder that is no repository was read")
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"seq":1,"ticker":"A","price":"1.00","date":"2025-01-02","previous_hash":"x","hash":"y","preimage":"A|1.00|2025-01-02|x"}`))
	f.Add([]byte(`{"date":"2025-01-02","reason":"closed"}`))
	f.Add([]byte(`{"seq":1,"what":"w","evidence":"e","date":"2025-01-02"}`))
	f.Fuzz(func(t *testing.T, line []byte) { gitledger.CheckLine(t, line) })
}

func BenchmarkAppend(b *testing.B) {
	o := options(b, "")
	l := open(b, o)
	entries := picks(b, 10_000)
	i := 0
	for b.Loop() {
		appendAll(b, l, entries[i])
		i++
	}
}
