package picks

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/equity"
)

// sicOf are the codes that the SEC assigned to the companies of the recorded files.
var sicOf = map[string]int{
	"AAPL": 3571, "AMZN": 5961, "AXP": 6199, "BA": 3721, "CAT": 3531, "COST": 5331, "CVX": 2911, "DIS": 7990, "GE": 3600, "GOOGL": 7370,
	"HD": 5211, "IBM": 3570, "INTC": 3674, "JNJ": 2834, "JPM": 6021, "KO": 2080, "MCD": 5812, "MSFT": 7372, "NFLX": 7841, "ORCL": 7372,
	"PEP": 2080, "PFE": 2834, "PG": 2840, "T": 4813, "UNH": 6324, "VZ": 4813, "WMT": 5331, "XOM": 2911,
}

// recordedMarket is a market of large companies on a day: their filings and, as raw prices, closes that the publisher had adjusted for
// splits. So no split is known, and a share count from before one is wrong by it.
func recordedMarket(t *testing.T, pick time.Time) Market {
	t.Helper()
	m := Market{Day: pick}
	files, err := filepath.Glob("../../shared/upstream/prices-yahoo/ohlcv-2010-2022/*.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the recorded data is not here: prices-yahoo/ohlcv-2010-2022")
	}
	for _, file := range files {
		ticker := strings.TrimSuffix(filepath.Base(file), ".csv")
		facts := recorded(t, "../facts-trimmed/"+ticker+".json")
		cik := facts[0].CIK
		m.Candidates = append(m.Candidates, Candidate{
			Company: equity.Company{
				CIK: cik, Name: ticker, SIC: sicOf[ticker], Location: "NY",
				Listings: []equity.Listing{{Ticker: ticker, Exchange: "XNYS"}},
			},
			Facts: facts, History: History{Bars: recordedBars(t, file, cik)},
		})
	}
	return m
}

// withoutDividends is a publisher whose closes come without dividends, like those of the recorded files.
const withoutDividends = "nasdaq"

func recordedBars(t *testing.T, file string, cik equity.CIK) []equity.Bar {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded data is not here: " + file)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var bars []equity.Bar
	for _, row := range rows[1:] {
		closing, err1 := strconv.ParseFloat(row[4], 64)
		volume, err2 := strconv.ParseFloat(row[len(row)-1], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		price, err := equity.PriceOf(closing, 6)
		if err != nil {
			t.Fatal(err)
		}
		bars = append(bars, equity.Bar{CIK: cik, Date: day(row[0][:10]), Close: price, Volume: int64(volume), Source: withoutDividends})
	}
	return bars
}

func TestLargeCompaniesAreScoredOnTheirRealFilings(t *testing.T) {
	t.Parallel()
	pick := day("2022-10-14")
	r := Rank(recordedMarket(t, pick), DefaultRules())
	for _, e := range r.Excluded {
		t.Logf("left out: %s, %s", e.Ticker, e.Reason)
	}
	if len(r.Scores) < 19 || r.Pick == nil {
		t.Fatalf("%d scored of %d", len(r.Scores), len(r.Scores)+len(r.Excluded))
	}
	for _, s := range r.Scores {
		t.Logf("%2d %-5s %-24s %+.3f q %+.2f v %+.2f m %+.2f r %+.2f P/E %.1f", s.Rank, s.Ticker, s.Sector, s.Total, s.Groups[Quality],
			s.Groups[Value], s.Groups[Momentum], s.Groups[Risk], 1/s.metric(EarningsYield).Value)
		for _, m := range s.Metrics {
			for _, f := range m.Facts {
				if !f.Filed.Before(pick) {
					t.Errorf("%s: %s is made of a fact filed on %s", s.Ticker, m.ID, f.Filed.Format(time.DateOnly))
				}
			}
			if m.Known() && len(m.Facts) == 0 && m.From.IsZero() {
				t.Errorf("%s: %s cites nothing", s.Ticker, m.ID)
			}
		}
	}
	// The close over the diluted earnings per share of the four quarters that the companies had reported by then.
	for ticker, want := range map[string]float64{"AAPL": 22.9, "MSFT": 23.7, "KO": 24.6, "JNJ": 23.8, "JPM": 8.9, "HD": 17.0, "PG": 21.5} {
		for _, s := range r.Scores {
			if pe := 1 / s.metric(EarningsYield).Value; s.Ticker == ticker && (pe < want*0.93 || pe > want*1.07) {
				t.Errorf("%s sells at %.1f times its earnings, want about %.1f", ticker, pe, want)
			}
		}
	}
}
