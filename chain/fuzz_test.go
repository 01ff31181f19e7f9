package chain_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
)

// The rules of the fields, said a second time in another way.
var (
	tickerForm = regexp.MustCompile(`^[A-Z0-9]([A-Z0-9.-]{0,14}[A-Z0-9])?$`)
	priceForm  = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})\.[0-9]{2,4}$`)
)

func FuzzCheckAgreesWithTheRules(f *testing.F) {
	for _, l := range vectors(f) {
		f.Add(l.Ticker, l.Price, l.Date)
	}
	for _, r := range rules {
		l := chain.Link{Seq: 1, Ticker: "A", Price: "1.00", Date: "2025-01-02"}
		r.edit(&l)
		f.Add(l.Ticker, l.Price, l.Date)
	}
	for _, price := range []string{"1.0", "1.000", "12.345", "1:.00", "1..00", "1/2.00", "9.9/", "9.9:", "1\xd0.00", "1.\xd00", "123456789012.00", "1234567890123.00", "10.00", "1x.00"} {
		f.Add("A", price, "2025-01-02")
	}
	f.Fuzz(func(t *testing.T, ticker, price, date string) {
		l := chain.Link{Seq: 1, Ticker: ticker, Price: price, Date: date, PreviousHash: chain.Genesis}
		l.Hash = chain.Hash(l)
		day, err := time.Parse(time.DateOnly, date)
		want := tickerForm.MatchString(ticker) &&
			priceForm.MatchString(price) && strings.Trim(price, "0.") != "" &&
			err == nil && day.Format(time.DateOnly) == date && day.Year() > 0
		got := chain.Check(l)
		if (got == nil) != want {
			t.Fatalf("Check of %q %q %q: %v, the rules say %v", ticker, price, date, got, want)
		}
		var v, w chain.Verifier
		added := v.Add(l)
		if (added == nil) != want {
			t.Fatalf("Add of %q %q %q: %v, the rules say %v", ticker, price, date, added, want)
		}
		raw := w.AddBytes(l.Seq, []byte(ticker), []byte(price), []byte(date), []byte(l.PreviousHash), []byte(l.Hash))
		if (raw == nil) != want {
			t.Fatalf("AddBytes of %q %q %q: %v, the rules say %v", ticker, price, date, raw, want)
		}
	})
}

// No two different links that pass may share a preimage: else one could be shown as the other.
func FuzzPreimageNamesOneLink(f *testing.F) {
	f.Add("A", "1.00", "2025-01-02", "B", "1.00", "2025-01-02")
	f.Add("A", "11.00", "2025-01-02", "A1", "1.00", "2025-01-02")
	f.Fuzz(func(t *testing.T, t1, p1, d1, t2, p2, d2 string) {
		a := chain.Link{Seq: 1, Ticker: t1, Price: p1, Date: d1, PreviousHash: chain.Genesis}
		b := chain.Link{Seq: 1, Ticker: t2, Price: p2, Date: d2, PreviousHash: chain.Genesis}
		a.Hash, b.Hash = chain.Hash(a), chain.Hash(b)
		if a == b || chain.Check(a) != nil || chain.Check(b) != nil {
			return
		}
		if chain.Preimage(a) == chain.Preimage(b) {
			t.Fatalf("%+v and %+v share the preimage %q", a, b, chain.Preimage(a))
		}
	})
}
