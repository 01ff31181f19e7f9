package gitledger_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain/gitledger"
)

// The test makes each state that a kill can leave and repeats the same calls. The result equals the result of an uninterrupted run.
func TestKilledAnywhereAndRunAgainIsRunOnce(t *testing.T) {
	t.Parallel()
	entries := picks(t, 4)
	calm := options(t, bare(t))
	l := open(t, calm)
	appendAll(t, l, entries...)
	want := mustPush(t, l).Head

	touch := func(t *testing.T, path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("ref: half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	states := map[string]func(t *testing.T, o gitledger.Options){
		"before anything": func(*testing.T, gitledger.Options) {},
		"while the repository is made": func(t *testing.T, o gitledger.Options) {
			touch(t, o.Dir+".new/HEAD")
		},
		"before the repository is put in its place": func(t *testing.T, o gitledger.Options) {
			git(t, t.TempDir(), "init", "--quiet", "--bare", o.Dir+".new")
			if err := os.Mkdir(o.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"with the repository empty": func(t *testing.T, o gitledger.Options) { open(t, o) },
		"between the objects and the branch": func(t *testing.T, o gitledger.Options) {
			l := open(t, o)
			first := appendAll(t, l, entries[0])[0]
			appendAll(t, l, entries[1:3]...)
			git(t, o.Dir, "update-ref", "refs/heads/main", first.ID)
		},
		"between the objects and the branch of the first commit": func(t *testing.T, o gitledger.Options) {
			appendAll(t, open(t, o), entries[:2]...)
			git(t, o.Dir, "update-ref", "-d", "refs/heads/main")
		},
		"while an object is written": func(t *testing.T, o gitledger.Options) {
			appendAll(t, open(t, o), entries[:2]...)
			touch(t, filepath.Join(o.Dir, "objects", "17", "tmp_obj_aBcDeF"))
			touch(t, filepath.Join(o.Dir, "objects", "pack", "tmp_pack_aBcDeF"))
		},
		"while the branch is moved": func(t *testing.T, o gitledger.Options) {
			appendAll(t, open(t, o), entries[:2]...)
			for _, lock := range []string{"refs/heads/main.lock", "refs/ledger/pushed.lock", "packed-refs.lock", "HEAD.lock", "config.lock", "gc.pid", "gc.pid.lock", "objects/info/packs.lock"} {
				touch(t, filepath.Join(o.Dir, lock))
			}
		},
		"before the push": func(t *testing.T, o gitledger.Options) { appendAll(t, open(t, o), entries...) },
		"between the push and its note": func(t *testing.T, o gitledger.Options) {
			l := open(t, o)
			appendAll(t, l, entries...)
			mustPush(t, l)
			git(t, o.Dir, "update-ref", "-d", "refs/ledger/pushed")
		},
		"between the fetch and going on to it": func(t *testing.T, o gitledger.Options) {
			l := open(t, options(t, o.Remote.URL))
			appendAll(t, l, entries[:3]...)
			mustPush(t, l)
			appendAll(t, open(t, o), entries[:1]...)
			git(t, o.Dir, "fetch", "--quiet", o.Remote.URL, "main:refs/ledger/seen")
			git(t, o.Dir, "update-ref", "refs/heads/main", git(t, o.Dir, "rev-parse", "refs/ledger/seen~2"))
		},
		"while the objects are packed": func(t *testing.T, o gitledger.Options) {
			appendAll(t, open(t, o), entries[:3]...)
			git(t, o.Dir, "pack-refs", "--all")
			git(t, o.Dir, "repack", "-a", "-q") // packed, and the loose ones not yet taken away
			touch(t, filepath.Join(o.Dir, "objects", "info", "commit-graphs", "commit-graph-chain.lock"))
		},
	}
	for name, reach := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, bare(t))
			reach(t, o)
			l := open(t, o)
			commits := appendAll(t, l, entries...)
			if got := mustPush(t, l).Head; got != want || commits[3].ID != want {
				t.Errorf("the end is %s, of an undisturbed run %s", got, want)
			}
			verify(t, o.Remote.URL, checkpoint(entries))
			verify(t, o.Dir, checkpoint(entries))
			git(t, o.Dir, "fsck", "--strict", "--no-dangling", "--no-progress")
		})
	}
}

// A disk that lost bytes is told from a ledger that was never begun: beginning again would be a second history.
func TestADamagedLedgerIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	entries := picks(t, 3)
	for name, damage := range map[string]func(t *testing.T, dir string){
		"an empty reference": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "refs", "heads", "main"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"a lost commit": func(t *testing.T, dir string) {
			id := git(t, dir, "rev-parse", "main")
			if err := os.Remove(filepath.Join(dir, "objects", id[:2], id[2:])); err != nil {
				t.Fatal(err)
			}
		},
		"a lost file": func(t *testing.T, dir string) {
			id := git(t, dir, "rev-parse", "main:chain/picks.ndjson")
			if err := os.Remove(filepath.Join(dir, "objects", id[:2], id[2:])); err != nil {
				t.Fatal(err)
			}
		},
		"a file that is no ledger's": func(t *testing.T, dir string) {
			clone := filepath.Join(t.TempDir(), "clone")
			git(t, t.TempDir(), "clone", "--quiet", dir, clone)
			change(t, clone, "chain/picks.ndjson", "101.50", "999.50")
			git(t, clone, "commit", "--quiet", "-am", "x")
			git(t, clone, "push", "--quiet", "origin", "main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, bare(t))
			l := open(t, o)
			appendAll(t, l, entries[:2]...)
			mustPush(t, l)
			damage(t, o.Dir)
			if _, err := l.Append(t.Context(), entries[2]); !errors.Is(err, gitledger.ErrDamaged) {
				t.Fatalf("append to a damaged ledger: %v", err)
			}
			// As the error's comment says: moved away, it comes back from the remote.
			if err := os.Rename(o.Dir, o.Dir+".damaged"); err != nil {
				t.Fatal(err)
			}
			appendAll(t, l, entries...)
			mustPush(t, l)
			verify(t, o.Remote.URL, checkpoint(entries))
		})
	}
}

func TestAFolderThatIsSomethingElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	if err := os.Mkdir(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "letter.txt"), []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := gitledger.Open(t.Context(), o); !errors.Is(err, gitledger.ErrDamaged) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "letter.txt")); err != nil {
		t.Error(err)
	}
}

// TestKillChild is the process that TestKilledAtRandom kills.
func TestKillChild(t *testing.T) {
	if flag.NArg() != 2 {
		t.Skip("runs only under TestKilledAtRandom")
	}
	o := options(t, flag.Arg(1))
	o.Dir = flag.Arg(0)
	l := open(t, o)
	for _, e := range picks(t, 8) {
		appendAll(t, l, e)
		mustPush(t, l)
	}
}

func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts and kills processes for some seconds")
	}
	entries := picks(t, 8)
	o := options(t, bare(t))
	seed := uint64(20250102)
	random, kills, temporary := rand.New(rand.NewPCG(seed, seed)), 0, t.TempDir()
	for round := 0; ; round++ {
		if round == 200 {
			t.Fatal("the child never finished")
		}
		// The context kills the child with SIGKILL; the git it started runs on.
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+random.IntN(40+120*round))*time.Millisecond)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKillChild$", "--", o.Dir, o.Remote.URL)
		cmd.Env = append(os.Environ(), "TMPDIR="+temporary) // files left by a killed child are removed with the test
		out, err := cmd.CombinedOutput()
		killed := ctx.Err() != nil
		cancel()
		if err == nil {
			break
		}
		if !killed {
			t.Fatalf("the child failed by itself in round %d: %v\n%s", round, err, out)
		}
		kills++
	}
	if kills < 5 {
		t.Errorf("only %d kills", kills)
	}
	r := verify(t, o.Remote.URL, checkpoint(entries))
	calm := options(t, "")
	commits := appendAll(t, open(t, calm), entries...)
	if r.Head != commits[7].ID {
		t.Errorf("after %d kills the head is %s, of an undisturbed run %s", kills, r.Head, commits[7].ID)
	}
	git(t, o.Dir, "fsck", "--strict", "--no-dangling", "--no-progress")
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(o.Dir), "*")); err != nil || strings.Contains(strings.Join(left, " "), ".new") {
		t.Errorf("left behind: %v %v", left, err)
	}
}
