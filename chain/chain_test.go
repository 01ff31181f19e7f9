package chain_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/chain"
)

// vectors reads the links that printf and sha256sum made (testdata/make.sh).
func vectors(tb testing.TB) []chain.Link {
	tb.Helper()
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var links []chain.Link
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Fields(s.Text())
		seq, err := strconv.ParseInt(w[0], 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		links = append(links, chain.Link{Seq: seq, Ticker: w[1], Price: w[2], Date: w[3], PreviousHash: w[4], Hash: w[5]})
	}
	if len(links) != 9 {
		tb.Fatalf("testdata/vectors.txt has %d links, want 9", len(links))
	}
	return links
}

func TestHashEqualsSha256sum(t *testing.T) {
	t.Parallel()
	for _, l := range vectors(t) {
		if got := chain.Hash(l); got != l.Hash {
			t.Errorf("pick %d: hash %s, sha256sum says %s", l.Seq, got, l.Hash)
		}
		if err := chain.Check(l); err != nil {
			t.Errorf("pick %d: %v", l.Seq, err)
		}
		want := l.Ticker + "|" + l.Price + "|" + l.Date + "|" + l.PreviousHash
		if got := chain.Preimage(l); got != want {
			t.Errorf("pick %d: preimage %q, want %q", l.Seq, got, want)
		}
		if got := string(chain.AppendPreimage([]byte("x:"), l)); got != "x:"+want {
			t.Errorf("pick %d: appended preimage %q", l.Seq, got)
		}
	}
}

// The page for third parties shows vectors; the tests must use the same ones.
func TestDocumentShowsTheVectors(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/hash-chain.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range vectors(t)[:3] {
		for _, want := range []string{chain.Preimage(l), l.Hash} {
			if !strings.Contains(string(page), want) {
				t.Errorf("docs/hash-chain.md does not show %q", want)
			}
		}
	}
}

func TestNextBuildsTheChainOfTheVectors(t *testing.T) {
	t.Parallel()
	var at chain.Checkpoint
	for _, want := range vectors(t) {
		got, err := chain.Next(at, want.Ticker, want.Price, want.Date)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("link -want +got\n%s", diff)
		}
		at = chain.Checkpoint{Length: got.Seq, Head: got.Hash, Date: got.Date}
	}
	if _, err := chain.Next(at, "A", "1.00", at.Date); err == nil {
		t.Error("a second pick of one day was linked")
	}
	if _, err := chain.Next(chain.Checkpoint{Length: 3}, "A", "1.00", "2025-01-02"); err == nil {
		t.Error("a checkpoint without a head was gone on from")
	}
}

// rules lists values by the fact they show; field is where the fault is, empty for none.
var rules = []struct {
	name  string
	field string
	edit  func(*chain.Link)
}{
	{"a symbol with a dot", "", func(l *chain.Link) { l.Ticker = "BRK.B" }},
	{"a symbol with a hyphen", "", func(l *chain.Link) { l.Ticker = "BAC-PL" }},
	{"a numeric symbol", "", func(l *chain.Link) { l.Ticker = "0700.HK" }},
	{"sixteen characters", "", func(l *chain.Link) { l.Ticker = "ABCDEFGHIJKLMNOP" }},
	{"seventeen characters", "ticker", func(l *chain.Link) { l.Ticker = "ABCDEFGHIJKLMNOPQ" }},
	{"no symbol", "ticker", func(l *chain.Link) { l.Ticker = "" }},
	{"lower case", "ticker", func(l *chain.Link) { l.Ticker = "nvda" }},
	{"one lower-case letter", "ticker", func(l *chain.Link) { l.Ticker = "NVdA" }},
	{"a separator in a symbol", "ticker", func(l *chain.Link) { l.Ticker = "A|1" }},
	{"a blank before a symbol", "ticker", func(l *chain.Link) { l.Ticker = " A" }},
	{"a Cyrillic letter that looks like A", "ticker", func(l *chain.Link) { l.Ticker = "\u0410APL" }},
	{"a dot alone", "ticker", func(l *chain.Link) { l.Ticker = "." }},
	{"a hyphen at the end", "ticker", func(l *chain.Link) { l.Ticker = "A-" }},

	{"the longest values together", "", func(l *chain.Link) { l.Ticker, l.Price = "ABCDEFGHIJKLMNOP", "999999999999.9999" }},
	{"two decimals", "", func(l *chain.Link) { l.Price = "182.50" }},
	{"three decimals", "", func(l *chain.Link) { l.Price = "182.505" }},
	{"four decimals", "", func(l *chain.Link) { l.Price = "182.5000" }},
	{"below one", "", func(l *chain.Link) { l.Price = "0.0001" }},
	{"no decimals", "price", func(l *chain.Link) { l.Price = "182" }},
	{"one decimal", "price", func(l *chain.Link) { l.Price = "182.5" }},
	{"five decimals", "price", func(l *chain.Link) { l.Price = "182.50000" }},
	{"zero", "price", func(l *chain.Link) { l.Price = "0.00" }},
	{"negative", "price", func(l *chain.Link) { l.Price = "-1.00" }},
	{"a plus sign", "price", func(l *chain.Link) { l.Price = "+1.00" }},
	{"a leading zero", "price", func(l *chain.Link) { l.Price = "0182.50" }},
	{"two leading zeros", "price", func(l *chain.Link) { l.Price = "00.50" }},
	{"nothing before the point", "price", func(l *chain.Link) { l.Price = ".50" }},
	{"nothing behind the point", "price", func(l *chain.Link) { l.Price = "182." }},
	{"an exponent", "price", func(l *chain.Link) { l.Price = "1.82e2" }},
	{"a decimal comma", "price", func(l *chain.Link) { l.Price = "182,50" }},
	{"a thousands separator", "price", func(l *chain.Link) { l.Price = "1,182.50" }},
	{"two points", "price", func(l *chain.Link) { l.Price = "1.82.50" }},
	{"a blank behind", "price", func(l *chain.Link) { l.Price = "182.50 " }},
	{"thirteen digits before the point", "price", func(l *chain.Link) { l.Price = "1000000000000.00" }},
	{"no price", "price", func(l *chain.Link) { l.Price = "" }},

	{"a leap day", "", func(l *chain.Link) { l.Date = "2028-02-29" }},
	{"a leap day of a century that has one", "", func(l *chain.Link) { l.Date = "2000-02-29" }},
	{"a leap day of a year that has none", "date", func(l *chain.Link) { l.Date = "2025-02-29" }},
	{"a leap day of a century that has none", "date", func(l *chain.Link) { l.Date = "2100-02-29" }},
	{"the 31st of April", "date", func(l *chain.Link) { l.Date = "2025-04-31" }},
	{"month 13", "date", func(l *chain.Link) { l.Date = "2025-13-01" }},
	{"month 0", "date", func(l *chain.Link) { l.Date = "2025-00-10" }},
	{"day 0", "date", func(l *chain.Link) { l.Date = "2025-01-00" }},
	{"year 0", "date", func(l *chain.Link) { l.Date = "0000-01-01" }},
	{"a date without its zeros", "date", func(l *chain.Link) { l.Date = "2025-1-02" }},
	{"slashes", "date", func(l *chain.Link) { l.Date = "2025/01/02" }},
	{"a time behind the date", "date", func(l *chain.Link) { l.Date = "2025-01-02T00:00:00Z" }},
	{"a letter in the year", "date", func(l *chain.Link) { l.Date = "2O25-01-02" }},

	{"seq 0", "seq", func(l *chain.Link) { l.Seq = 0 }},
	{"seq below zero", "seq", func(l *chain.Link) { l.Seq = -1 }},
	{"an upper-case previous hash", "previous_hash", func(l *chain.Link) { l.PreviousHash = strings.Repeat("A", 64) }},
	{"a short previous hash", "previous_hash", func(l *chain.Link) { l.PreviousHash = strings.Repeat("0", 63) }},
	{"no previous hash", "previous_hash", func(l *chain.Link) { l.PreviousHash = "" }},
}

func TestRulesOfAField(t *testing.T) {
	t.Parallel()
	for _, tt := range rules {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := vectors(t)[0]
			tt.edit(&l)
			l.Hash = chain.Hash(l) // the hash is right, so only the form can be wrong
			var v chain.Verifier
			for _, err := range []error{chain.Check(l), v.Add(l)} {
				wantField(t, err, l.Seq, tt.field)
			}
		})
	}
}

func TestCheckLooksAtTheHash(t *testing.T) {
	t.Parallel()
	l := vectors(t)[3]
	l.Hash = strings.ToUpper(l.Hash)
	wantField(t, chain.Check(l), 4, "hash")
	l = vectors(t)[3]
	l.Price = "9.97"
	wantField(t, chain.Check(l), 4, "hash")
}

// wantField checks that err names the link and the field, or that there is no error where field is empty.
func wantField(t *testing.T, err error, seq int64, field string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	e, ok := err.(*chain.Error) //nolint:errorlint // the contract is an *Error itself, not one in a wrapping
	if !ok {
		t.Errorf("error %v, want one about %s", err, field)
		return
	}
	if e.Seq != seq || e.Field != field {
		t.Errorf("error %v names pick %d and %s, want pick %d and %s", e, e.Seq, e.Field, seq, field)
	}
	if !strings.Contains(e.Error(), strconv.FormatInt(seq, 10)) || !strings.Contains(e.Error(), field) {
		t.Errorf("message %q names not both the pick and the field", e.Error())
	}
}

func TestNotesAreOneLineOfText(t *testing.T) {
	t.Parallel()
	good := chain.Correction{Seq: 7, What: "Price was 2871.50, the close was 2817.50.", Evidence: "https://example.org/close", Date: "2025-01-14"}
	if err := good.Check(); err != nil {
		t.Errorf("a good correction was refused: %v", err)
	}
	for name, edit := range map[string]func(*chain.Correction){
		"no pick":         func(c *chain.Correction) { c.Seq = 0 },
		"no text":         func(c *chain.Correction) { c.What = "" },
		"no evidence":     func(c *chain.Correction) { c.Evidence = "" },
		"two lines":       func(c *chain.Correction) { c.What = "a\nb" },
		"a line sign":     func(c *chain.Correction) { c.What = "a\u2028b" },
		"broken UTF-8":    func(c *chain.Correction) { c.Evidence = "\xff" },
		"endless text":    func(c *chain.Correction) { c.What = strings.Repeat("x", 2001) },
		"an unreal day":   func(c *chain.Correction) { c.Date = "2025-02-30" },
		"a terminal code": func(c *chain.Correction) { c.What = "\x1b[2J" },
	} {
		c := good
		edit(&c)
		if err := c.Check(); err == nil {
			t.Errorf("%s: the correction %+v was accepted", name, c)
		}
	}
	if err := (chain.Gap{Date: "2026-03-05", Reason: "no price by the cutoff"}).Check(); err != nil {
		t.Errorf("a good gap was refused: %v", err)
	}
	for _, g := range []chain.Gap{{Reason: "x"}, {Date: "2026-03-05"}, {Date: "2026-03-32", Reason: "x"}} {
		if err := g.Check(); err == nil {
			t.Errorf("the gap %+v was accepted", g)
		}
	}
}
