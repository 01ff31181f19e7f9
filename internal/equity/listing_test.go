package equity

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTickersThroughTime(t *testing.T) {
	t.Parallel()
	listing := func(ticker, exchange, from, to string) Listing {
		l := Listing{Ticker: ticker, Exchange: exchange}
		if from != "" {
			l.From = day(from)
		}
		if to != "" {
			l.To = day(to)
		}
		return l
	}
	now := func(l ...Listing) []Listing { return l }
	fb := listing("FB", "XNAS", "", "")
	for _, tc := range []struct {
		fact       string
		known, now []Listing
		want       []Listing
	}{
		{"what is seen first has always been so", nil, now(fb), now(fb)},
		{"the same again changes nothing", now(fb), now(fb), now(fb)},
		{"a new ticker", now(fb), now(listing("META", "XNAS", "", "")), now(listing("META", "XNAS", "2022-06-09", ""), listing("FB", "XNAS", "", "2022-06-08"))},
		{
			"a class more, which stands first from now on", now(listing("GOOG", "XNAS", "", "")), now(listing("GOOGL", "XNAS", "", ""), listing("GOOG", "XNAS", "", "")),
			now(listing("GOOGL", "XNAS", "2022-06-09", ""), listing("GOOG", "XNAS", "", "")),
		},
		{"gone from the exchange", now(fb), nil, now(listing("FB", "XNAS", "", "2022-06-08"))},
		{"an exchange that becomes known", now(listing("FB", "", "", "")), now(fb), now(fb)},
		{"a list that does not know exchanges", now(fb), now(listing("FB", "", "", "")), now(fb)},
		{
			"a move to another exchange", now(listing("FB", "XNYS", "2020-01-01", "")), now(fb),
			now(listing("FB", "XNAS", "2022-06-09", ""), listing("FB", "XNYS", "2020-01-01", "2022-06-08")),
		},
		{
			"an old ticker comes back", now(listing("META", "XNAS", "2022-01-01", ""), listing("FB", "XNAS", "", "2021-12-31")), now(fb),
			now(listing("FB", "XNAS", "2022-06-09", ""), listing("META", "XNAS", "2022-01-01", "2022-06-08"), listing("FB", "XNAS", "", "2021-12-31")),
		},
		{"corrected on the day it came", now(listing("METB", "XNAS", "2022-06-09", ""), listing("FB", "XNAS", "", "2022-06-08")), now(listing("META", "XNAS", "", "")), now(listing("META", "XNAS", "2022-06-09", ""), listing("FB", "XNAS", "", "2022-06-08"))},
	} {
		before := slices.Clone(tc.known)
		got := Listings(tc.known, tc.now, day("2022-06-09"))
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.fact, diff)
		}
		if diff := cmp.Diff(got, Listings(got, tc.now, day("2022-06-09"))); diff != "" {
			t.Errorf("%s: the same answer again changes (-first +second):\n%s", tc.fact, diff)
		}
		if diff := cmp.Diff(before, tc.known); diff != "" {
			t.Errorf("%s: changes what it was given (-before +after):\n%s", tc.fact, diff)
		}
	}
}
