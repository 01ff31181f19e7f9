package monitor

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

// sealedDay makes the leaves of a sealed pick of the day of noon, the first of the chain. Its reveal is due an hour after noon.
type sealedDay struct {
	t    *testing.T
	link chain.Link
	salt []byte
}

func newSealedDay(t *testing.T) *sealedDay {
	t.Helper()
	link, err := chain.Next(chain.Checkpoint{}, "AAPL", "243.85", noon.Format(time.DateOnly))
	if err != nil {
		t.Fatal(err)
	}
	return &sealedDay{t, link, bytes.Repeat([]byte{7}, 32)}
}

func (d *sealedDay) seal() []byte {
	return leafOf(d.t, tlog.KindSeal, "pick "+d.link.Date, tlog.Commitment(d.salt, []byte(chain.Preimage(d.link))), "picks/1",
		tlog.FormatTime(noon.Add(time.Hour)), tlog.FormatTime(noon.Add(-time.Minute)))
}

func (d *sealedDay) revealOf(index int64, content string, at time.Time) []byte {
	return leafOf(d.t, tlog.KindReveal, fmt.Sprint(index), "pick "+d.link.Date, fmt.Sprintf("%x", d.salt), base64.StdEncoding.EncodeToString([]byte(content)),
		tlog.FormatTime(at))
}

func (d *sealedDay) reveal(index int64) []byte {
	return d.revealOf(index, chain.Preimage(d.link), noon.Add(50*time.Minute))
}

func (d *sealedDay) pick() []byte {
	return leafOf(d.t, tlog.KindPick, "1", chain.Preimage(d.link), d.link.Hash, tlog.FormatTime(noon.Add(50*time.Minute)))
}

func TestASealedPickIsFollowedToItsReveal(t *testing.T) {
	t.Parallel()
	for name, reversed := range map[string]bool{"reveal, then pick": false, "pick, then reveal, as where the sequencer was away": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, d := newTestLog(t), newSealedDay(t)
			l.picks = `{"picks":[{"seq":1,"hash":"` + d.link.Hash + `"}]}`
			dir := t.TempDir()
			m := l.monitor(dir, "two")
			index := l.tree.size
			l.grow(d.seal())
			l.pass(50 * time.Minute)
			l.publish()
			if kinds, all := found(t, m); len(kinds) > 0 {
				t.Fatalf("sealed: %+v", all)
			}
			leaves := [][]byte{d.reveal(index), d.pick()}
			if reversed {
				slices.Reverse(leaves)
			}
			l.grow(leaves[0])
			if kinds, all := found(t, m); len(kinds) > 0 {
				t.Fatalf("half open: %+v", all)
			}
			m = l.monitor(dir, "two") // a restart remembers what is open
			l.grow(leaves[1])
			l.pass(2 * time.Hour)
			l.publish()
			if kinds, all := found(t, m); len(kinds) > 0 {
				t.Fatalf("revealed: %+v", all)
			}
			if len(m.state.Rules.Open) > 0 {
				t.Errorf("still open: %+v", m.state.Rules.Open)
			}
		})
	}
}

func TestARevealThatDoesNotComeIsNoticedInTheNextRound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environment, name string
		act               func(l *testLog)
		evidence          bool
	}{
		{"live", "a quorum cosigned the size without it", func(l *testLog) { l.publish() }, true},
		{"live", "nobody cosigns any more", func(*testLog) {}, false},
		{"demo", "the days of the log pass", func(l *testLog) {
			l.grow(leafOf(l.t, tlog.KindGap, "2026-03-05", "x", tlog.FormatTime(noon.Add(30*time.Hour))))
		}, false},
	} {
		t.Run(c.environment+": "+c.name, func(t *testing.T) {
			t.Parallel()
			l, d := newTestLogOf(t, c.environment, "none"), newSealedDay(t)
			m := l.monitor(t.TempDir(), "two")
			l.grow(d.seal())
			l.pass(time.Hour)
			if kinds, all := found(t, m); len(kinds) > 0 {
				t.Fatalf("at the end of its time: %+v", all)
			}
			l.pass(2*time.Minute + time.Second)
			c.act(l)
			kinds, all := found(t, m)
			if !slices.Equal(kinds, []string{KindMissing}) || !strings.Contains(all[0].Text, "2026-03-04") {
				t.Fatalf("it finds %+v", all)
			}
			// A proof of a quorum stays, even if the reveal comes later.
			l.grow(d.reveal(l.tree.size-1), d.pick())
			l.picks = `{"picks":[{"seq":1,"hash":"` + d.link.Hash + `"}]}`
			kinds, all = found(t, m)
			if slices.Contains(kinds, KindMissing) != c.evidence && c.environment == "live" {
				t.Errorf("after the reveal: %+v", all)
			}
		})
	}
}

func TestASealIsHeldToItsRevealAndItsPick(t *testing.T) {
	t.Parallel()
	other := "MSFT|1.00|2026-03-04|" + chain.Genesis
	for name, leaves := range map[string]func(l *testLog, d *sealedDay) [][]byte{
		"another content": func(l *testLog, d *sealedDay) [][]byte {
			return [][]byte{d.seal(), d.revealOf(l.tree.size, other, noon)}
		},
		"another salt": func(l *testLog, d *sealedDay) [][]byte {
			seal := d.seal()
			d.salt[0]++
			return [][]byte{seal, d.reveal(l.tree.size)}
		},
		"the reveal names another leaf": func(l *testLog, d *sealedDay) [][]byte { return [][]byte{d.seal(), d.reveal(l.tree.size - 1)} },
		"a reveal of nothing":           func(_ *testLog, d *sealedDay) [][]byte { return [][]byte{d.reveal(3)} },
		"two reveals": func(l *testLog, d *sealedDay) [][]byte {
			return [][]byte{d.seal(), d.reveal(l.tree.size), d.reveal(l.tree.size)}
		},
		"a reveal that comes late": func(l *testLog, d *sealedDay) [][]byte {
			return [][]byte{d.seal(), d.revealOf(l.tree.size, chain.Preimage(d.link), noon.Add(time.Hour+time.Second)), d.pick()}
		},
		"another pick is announced": func(l *testLog, d *sealedDay) [][]byte {
			seal, reveal := d.seal(), d.reveal(l.tree.size)
			link, err := chain.Next(chain.Checkpoint{}, "MSFT", "1.00", d.link.Date)
			if err != nil {
				l.t.Fatal(err)
			}
			d.link = link
			return [][]byte{seal, reveal, d.pick()}
		},
		"another pick, then its reveal": func(l *testLog, d *sealedDay) [][]byte {
			seal, reveal := d.seal(), d.reveal(l.tree.size)
			link, err := chain.Next(chain.Checkpoint{}, "MSFT", "1.00", d.link.Date)
			if err != nil {
				l.t.Fatal(err)
			}
			d.link = link
			return [][]byte{seal, d.pick(), reveal}
		},
		"a seal that need not be revealed for 48 hours": func(_ *testLog, d *sealedDay) [][]byte {
			return [][]byte{leafOf(d.t, tlog.KindSeal, "pick "+d.link.Date, strings.Repeat("ab", 32), "m", "2026-03-06T00:00:00.000000Z", "2026-03-04T12:00:00.000000Z")}
		},
		"a seal about no day": func(l *testLog, _ *sealedDay) [][]byte {
			return [][]byte{leafOf(l.t, tlog.KindSeal, "pick today", strings.Repeat("ab", 32), "m", "2026-03-04T13:00:00.000000Z", "2026-03-04T12:00:00.000000Z")}
		},
		"more open seals than days": func(l *testLog, _ *sealedDay) (list [][]byte) {
			for i := range maxOpen + 1 {
				day := noon.AddDate(0, 0, i).Format(time.DateOnly)
				list = append(list, leafOf(l.t, tlog.KindSeal, "pick "+day, strings.Repeat("ab", 32), "m", day+"T13:00:00.000000Z", "2026-03-04T12:00:00.000000Z"))
			}
			return list
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, d := newTestLog(t), newSealedDay(t)
			m := l.monitor(t.TempDir(), "two")
			l.grow(leaves(l, d)...)
			if kinds, all := found(t, m); !slices.Contains(kinds, KindRule) {
				t.Errorf("it finds %+v", all)
			}
		})
	}
}

func TestSinceTheFirstSealedDayAPickNeedsASeal(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]bool{"none": false, "2026-03-05": false, "2026-03-04": true, "2026-03-01": true} {
		l, d := newTestLogOf(t, "live", from), newSealedDay(t)
		l.picks = `{"picks":[{"seq":1,"hash":"` + d.link.Hash + `"}]}`
		m := l.monitor(t.TempDir(), "two")
		l.grow(d.pick())
		if kinds, all := found(t, m); slices.Contains(kinds, KindRule) != want {
			t.Errorf("sealing from %s: %+v", from, all)
		}
	}
}
