package verdicts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/chain"
	"tidemark/internal/calendar"
)

// The values that random chains are made of: good ones, and ones that a verifier may take by mistake.
var (
	tickers = []string{
		"A", "BRK.B", "BRK-B", "7203.T", "A..B", "A.-B", "A--B", "X9", strings.Repeat("A", 16), strings.Repeat("A", 17), "", ".A", "A.", "-", "a", "É", "А",
		"A\n", "\nA", "A ", "A|B", "A\x00", "A\u2028", "Ａ", "\ufeffA", "K\u212a", "undefined", "null", "😀",
	}
	prices = []string{
		"1.00", "0.50", "9.96", "140.115", "451.1000", "123456789012.00", "1234567890123.00", "1.2", "1.23456", "0.00", "0.0000", "00.10", "0.01", "01.00",
		"1.٢٣", "+1.23", "-1.00", "1e3", "1.23\n", ".50", "1.", "1", "", "1_0.00", "１.00", "1,00", "NaN", "Infinity", " 1.00", "1.00 ", "0x1.00",
	}
	dates = []string{
		"2025-02-28", "2025-02-29", "2024-02-29", "2025-02-30", "2025-13-01", "2025-00-10", "2025-01-00", "2025-04-31", "1900-02-29", "2000-02-29", "0000-01-01",
		"0001-01-01", "9999-12-31", "２０２５-01-16", "2025-01-1６", "2025-1-0016", "2025- 1-16", "2025-01-16 ", "2025-01-160", "+2025-01-1", "2025-01-16T", "",
		"2025/01/16", "20250116", "2025-01-16\n", "-025-01-16", "1970-01-01", "2025-06-30",
	}
)

// maker makes random cases.
type maker struct{ *rand.Rand }

func pickOne[T any](m maker, list []T) T { return list[m.IntN(len(list))] }

func (m maker) rarely() bool { return m.IntN(20) == 0 }

var now = time.Date(2025, 1, 17, 1, 0, 0, 0, time.UTC)

// chain returns picks whose hashes are right, some with odd values.
func (m maker) chain() []link {
	newest := calendar.Add(calendar.DayOf(now), -pickOne(m, []int{0, 0, 0, 0, 1, 1, 2, 3}))
	n := m.IntN(8)
	out := make([]link, n)
	for i := range n {
		out[i] = link{Ticker: pickOne(m, tickers[:8]), Price: pickOne(m, prices[:6]), Date: calendar.Add(newest, i+1-n).Format(time.DateOnly)}
		if m.rarely() {
			out[i].Ticker = pickOne(m, tickers)
		}
		if m.rarely() {
			out[i].Price = pickOne(m, prices)
		}
		if m.rarely() {
			out[i].Date = pickOne(m, dates)
		}
	}
	rehash(out)
	return out
}

func rehash(picks []link) {
	previous := chain.Genesis
	for i := range picks {
		p := &picks[i]
		p.Seq, p.Previous = int64(i+1), previous
		p.Hash = chain.Hash(chain.Link{Ticker: p.Ticker, Price: p.Price, Date: p.Date, PreviousHash: previous})
		previous = p.Hash
	}
}

// falsify changes a member of a pick without new hashes.
func (m maker) falsify(picks []link) {
	p := &picks[m.IntN(len(picks))]
	switch m.IntN(6) {
	case 0:
		p.Seq += int64(m.IntN(3) - 1)
	case 1:
		p.Price = pickOne(m, prices)
	case 2:
		p.Date = pickOne(m, dates)
	case 3:
		p.Previous = chain.Genesis
	case 4:
		p.Hash = strings.ToUpper(p.Hash)
	case 5:
		p.Hash = ""
	}
}

func (m maker) witness(picks []link) witness {
	w := witness{Witness: pickOne(m, []string{"checkpoint", "ledger", "other"}), Length: 1 + int64(m.IntN(len(picks)+1)), Head: chain.Genesis}
	if n := int(w.Length); n >= 1 && n <= len(picks) {
		w.Head = picks[n-1].Hash
		if m.IntN(2) == 0 {
			w.Date = picks[n-1].Date
		}
	}
	if n := int64(len(picks)); w.Length > n && n > 0 && !m.rarely() {
		w.Length, w.Head, w.Date = n, picks[n-1].Hash, ""
	}
	switch {
	case m.rarely():
		w.Length = pickOne(m, []int64{0, -1, 1, int64(len(picks)), 1 << 40})
	case m.rarely():
		w.Head = pickOne(m, []string{"", strings.Repeat("ab", 32), strings.ToUpper(w.Head)})
	case m.rarely():
		w.Date = pickOne(m, dates)
	}
	if m.IntN(2) == 0 {
		w.Attester = pickOne(m, []string{"0xab", "0xAB", "0xab", "0xcd", ""})
	}
	w.Named, w.Kept = m.rarely(), m.IntN(8) == 0
	if m.IntN(3) > 0 {
		w.At = new(now.Add(pickOne(m, []time.Duration{
			0, -time.Hour, -chain.FreshFor, -chain.FreshFor - time.Second, chain.Ahead, chain.Ahead + time.Second, -1000 * time.Hour, 10_000 * time.Hour,
			time.Duration(m.IntN(300)-200) * time.Hour,
		})))
	}
	return w
}

func (m maker) testCase(i int) testCase {
	picks := m.chain()
	c := testCase{Name: fmt.Sprintf("random %d", i), Policy: policy{Now: now}, Witnesses: []witness{}}
	for range m.IntN(4) {
		c.Witnesses = append(c.Witnesses, m.witness(picks))
	}
	if len(picks) > 0 && m.rarely() {
		picks = picks[:m.IntN(len(picks))] // cut after the witnesses saw it
	}
	if len(picks) > 0 && m.rarely() {
		picks[m.IntN(len(picks))].Ticker = "CHEAT"
		rehash(picks)
	}
	if len(picks) > 0 && m.rarely() {
		m.falsify(picks)
	}
	if len(picks) > 1 && m.rarely() {
		slices.Reverse(picks)
	}
	c.Answer = claims{Length: int64(len(picks)), Picks: picks}
	if len(picks) > 0 {
		c.Answer.Head = &picks[len(picks)-1].Hash
	} else if m.IntN(2) == 0 {
		c.Answer.Head = new(chain.Genesis)
	}
	if m.IntN(8) == 0 {
		for range 1 + m.IntN(2) {
			day := calendar.DayOf(now).AddDate(0, 0, m.IntN(12)-8).Format(time.DateOnly)
			if m.rarely() {
				day = pickOne(m, dates)
			}
			c.Answer.Gaps = append(c.Answer.Gaps, gap{Date: day, Reason: "no price"})
		}
	}
	if m.IntN(8) == 0 { // around the close of the newest day, whose clocks may differ by five minutes
		closing, _ := calendar.Close(calendar.DayOf(now))
		c.Policy.Now = closing.Add(pickOne(m, []time.Duration{0, -chain.Ahead, -chain.Ahead - time.Second, -time.Hour, 9 * time.Hour, 40 * time.Hour}))
	}
	switch {
	case m.rarely():
		c.Answer.Length++
	case m.rarely():
		c.Answer.Head = nil
	case m.rarely():
		c.Answer.Seals = &seals{Faults: []sealFault{{m.IntN(2) == 0}}}
	}
	if m.IntN(6) == 0 {
		c.Policy.Attester = new(pickOne(m, []string{"0xab", "0xAb", ""}))
	}
	return c
}

func TestThreeVerifiersAgreeOnRandomCases(t *testing.T) {
	t.Parallel()
	m := maker{rand.New(rand.NewPCG(21, 4))}
	cases := make([]testCase, 5000)
	want, seen := make([]outcome, len(cases)), map[string]int{}
	for i := range cases {
		cases[i] = m.testCase(i)
		want[i] = cases[i].judge()
		seen[want[i].Verdict]++
	}
	for _, v := range []chain.Verdict{chain.SelfConsistent, chain.Witnessed, chain.Contradicted} {
		if seen[string(v)] < 200 {
			t.Errorf("only %d of the random cases are %s", seen[string(v)], v)
		}
	}
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	others(t, file, func(t *testing.T, got []outcome) {
		t.Helper()
		if len(got) != len(cases) {
			t.Fatalf("%d outcomes of %d cases", len(got), len(cases))
		}
		differ := 0
		for i, c := range cases {
			if diff := cmp.Diff(want[i], got[i]); diff != "" && differ < 5 {
				differ++
				shown, _ := json.Marshal(c)
				t.Errorf("the Go verifier (-) and this one (+) differ:\n%s%s", diff, shown)
			}
		}
	})
}
