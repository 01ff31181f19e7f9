package edgar

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const (
	tickersPath   = "/files/company_tickers.json"
	exchangesPath = "/files/company_tickers_exchange.json"
)

// Companies declares the SEC's two lists of companies with tickers: some 8,000 companies with 10,000 tickers, largest first, a
// company's main ticker before its others. Both lists say the same, the second also the exchange. They state the tickers of the day
// and no dates; equity.Listings makes a history of them.
func Companies(userAgent string) ingest.Source {
	return ingest.Source{
		ID: "edgar-companies", Name: "SEC EDGAR, companies and their tickers", Publisher: publisher, License: license,
		HomeURL: "https://www.sec.gov/file/company-tickers",
		Cadence: series.Cadence{Cron: "20 7 * * MON-FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits:  jsonLimits(1),
		Request: func(series.Window) ([]ingest.Request, error) {
			return requests(userAgent, "https://"+filesHost+tickersPath, "https://"+filesHost+exchangesPath)
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			u, err := address(r, filesHost)
			if err != nil {
				return wrap("a list of companies", ingest.Batch{}, err)
			}
			var list companyList
			switch u.Path {
			case tickersPath:
				err = list.readTickers(r.Body)
			case exchangesPath:
				err = list.readExchanges(r.Body)
			default:
				err = errors.New("no list of companies is at this path")
			}
			if err == nil && len(list.companies) == 0 {
				err = errors.New("the list is empty")
			}
			return wrap(strings.TrimPrefix(u.Path, "/"), ingest.Batch{Companies: list.companies}, err)
		},
	}
}

// companyList collects rows; a company may have several.
type companyList struct {
	companies []equity.Company
	at        map[equity.CIK]int
}

// add takes in a row. A row without a ticker is a company without a listing.
func (l *companyList) add(id equity.CIK, name, ticker, exchange string) error {
	if id == 0 || name == "" {
		return fmt.Errorf("a row of CIK %d with the name %q, want both", int64(id), name)
	}
	i, known := l.at[id]
	if !known {
		if l.at == nil {
			l.at = map[equity.CIK]int{}
		}
		i = len(l.companies)
		l.at[id] = i
		l.companies = append(l.companies, equity.Company{CIK: id, Name: name})
	}
	c := &l.companies[i]
	if listing, ok := listed(ticker, exchange); ok && !slices.Contains(c.Listings, listing) {
		c.Listings = append(c.Listings, listing)
	}
	return nil
}

// listed is a listing without dates; none without a ticker.
func listed(ticker, exchange string) (equity.Listing, bool) {
	ticker = strings.ToUpper(strings.TrimSpace(ticker))
	return equity.Listing{Ticker: ticker, Exchange: marketCode(exchange)}, ticker != ""
}

// marketCode is the ISO 10383 code of an exchange by its name at the SEC; empty for an unknown one.
func marketCode(name string) string {
	switch strings.ToUpper(name) {
	case "NASDAQ":
		return "XNAS"
	case "NYSE":
		return "XNYS"
	case "NYSE AMERICAN", "NYSE MKT", "AMEX":
		return "XASE"
	case "NYSE ARCA":
		return "ARCX"
	case "CBOE", "BATS":
		return "BATS"
	case "OTC":
		return "OTCM"
	}
	return ""
}

// readTickers reads an object whose members are rows, "0" the first.
func (l *companyList) readTickers(body []byte) error {
	return document(body, func(s stream, number string) error {
		var row struct {
			CIK    cik    `json:"cik_str"`
			Ticker string `json:"ticker"`
			Title  string `json:"title"`
		}
		if err := s.value("row "+number, &row); err != nil {
			return err
		}
		if err := l.add(equity.CIK(row.CIK), row.Title, row.Ticker, ""); err != nil {
			return fmt.Errorf("row %.20s: %w", number, err)
		}
		return nil
	})
}

// readExchanges reads a table: the names of its columns, and rows of as many values.
func (l *companyList) readExchanges(body []byte) error {
	var fields []string
	var rows [][]any
	err := document(body, func(s stream, name string) error {
		switch name {
		case "fields":
			return s.value(name, &fields)
		case "data":
			s.UseNumber()
			return s.value(name, &rows)
		}
		return s.skip()
	})
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, name := range []string{"cik", "name", "ticker", "exchange"} {
		if at[name] = slices.Index(fields, name); at[name] < 0 {
			return fmt.Errorf("no column %q among %.200q", name, fields)
		}
	}
	for n, row := range rows {
		if len(row) != len(fields) {
			return fmt.Errorf("row %d has %d values, want %d", n, len(row), len(fields))
		}
		cell := func(name string) string {
			if v := row[at[name]]; v != nil {
				return fmt.Sprint(v)
			}
			return ""
		}
		var id cik
		if err := id.UnmarshalJSON([]byte(cell("cik"))); err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		if err := l.add(equity.CIK(id), cell("name"), cell("ticker"), cell("exchange")); err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
	}
	return nil
}
