package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/companies"
	"tidemark/ingest/edgar"
	"tidemark/ingest/prices"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/workers"
)

// secAgent returns the user agent for the SEC, empty if the operator has not set it yet. Other worlds than the live one send no requests to
// the SEC.
func (p *program) secAgent() string {
	if p.settings.SECUserAgent == "" && p.settings.World != "live" {
		return "Tidemark " + p.settings.World + "@tidemark.example"
	}
	return p.settings.SECUserAgent
}

// sharesSource makes a source of prices for some shares.
type sharesSource func([]prices.Share) ingest.Source

// priceSources returns the publishers of prices that the settings select, at most two. The first provides the prices; the second is
// compared with it.
func (p *program) priceSources() []sharesSource {
	s := p.settings
	if s.World == "sandbox" {
		return []sharesSource{prices.Yahoo}
	}
	var list []sharesSource
	if s.TiingoAPIKey != "" {
		list = append(list, func(all []prices.Share) ingest.Source { return prices.Tiingo(s.TiingoAPIKey, all) })
	}
	if s.PricesFolder != "" {
		list = append(list, func([]prices.Share) ingest.Source { return prices.CSV() })
	}
	switch s.PricesPersonalUse {
	case "yahoo":
		list = append(list, prices.Yahoo)
	case "nasdaq":
		list = append(list, prices.Nasdaq)
	}
	return list[:min(len(list), 2)]
}

// missingEquitySettings says why companies or their prices are not followed, and which setting to set. It is empty if both are followed.
func (p *program) missingEquitySettings() []string {
	var why []string
	if p.secAgent() == "" {
		why = append(why, "no company is followed: set SEC_USER_AGENT to a name and an address to write to")
	}
	if len(p.priceSources()) == 0 {
		why = append(why, "no source of daily prices is chosen: set TIINGO_API_KEY, PRICES_FOLDER or PRICES_PERSONAL_USE")
	}
	return why
}

// equitySchedule returns the schedules of fetches about companies.
func (p *program) equitySchedule() []task.Schedule {
	var list []task.Schedule
	add := func(s ingest.Source) {
		list = append(list, task.Schedule{
			Job: task.Equities, Subject: s.ID, Cron: s.Cadence.Cron, Zone: s.Cadence.Zone, CatchUp: string(s.Cadence.CatchUp),
		})
	}
	agent := p.secAgent()
	if agent == "" {
		return nil // without companies there are no prices to fetch
	}
	add(edgar.Companies(agent))
	add(edgar.Current(agent))
	add(edgar.Documents(agent, nil))
	for _, source := range p.priceSources() {
		add(source(nil))
	}
	return list
}

// companySources returns all sources about companies and prices by their ids, for parsing archived answers. The user agent does not matter
// for that, nor whether a source is in use at present.
func companySources() map[string]ingest.Source {
	const nobody = "" // the user agent for requests to the SEC
	all := map[string]ingest.Source{}
	for _, s := range []ingest.Source{
		edgar.Companies(nobody), edgar.Current(nobody), edgar.Submissions(nobody, nil), edgar.Facts(nobody, nil), edgar.Documents(nobody, nil),
		prices.Tiingo("", nil), prices.CSV(), prices.Yahoo(nil), prices.Nasdaq(nil),
	} {
		all[s.ID] = s
	}
	return all
}

// equities returns the job that follows companies.
func (p *program) equities(db *postgres.DB, w *worldRuntime, e *ingest.Engine, store *archive.Store) (workers.Equities, error) {
	universe, err := p.universe()
	if err != nil {
		return workers.Equities{}, usageError{err}
	}
	job := workers.Equities{DB: db, Engine: e, Now: w.now, Universe: universe}
	agent := p.secAgent()
	if agent == "" {
		return job, nil
	}
	job.Companies, job.Current = edgar.Companies(agent), edgar.Current(agent)
	job.Submissions = func(ids []equity.CIK) ingest.Source { return edgar.Submissions(agent, ids) }
	job.Facts = func(ids []equity.CIK) ingest.Source { return edgar.Facts(agent, ids) }
	job.Documents = func(reports []equity.Filing) ingest.Source { return edgar.Documents(agent, reports) }
	for i, source := range p.priceSources() {
		if of := p.publisher(db, w, e, store, source); i == 0 {
			job.Prices = of
		} else {
			job.Second = of
		}
	}
	return job, nil
}

// publisher returns the job that fetches prices from a publisher.
func (p *program) publisher(db *postgres.DB, w *worldRuntime, e *ingest.Engine, store *archive.Store, source sharesSource) workers.Prices {
	of := workers.Prices{
		ID: source(nil).ID,
		Ask: func(ctx context.Context, shares []companies.Share, window series.Window, runID int64) ([]ingest.Fetched, error) {
			return e.Collect(ctx, source(asked(shares)), window, runID)
		},
	}
	for _, fund := range prices.Funds() {
		of.Funds = append(of.Funds, companies.Share{CIK: fund.CIK, Ticker: fund.Ticker})
	}
	switch of.ID {
	case prices.CSV().ID:
		drop := prices.CSVImport{Folder: os.DirFS(p.settings.PricesFolder), Now: w.now, Ledger: db, Archive: store}
		of.Ask = func(ctx context.Context, shares []companies.Share, _ series.Window, runID int64) ([]ingest.Fetched, error) {
			drop := drop
			drop.Shares = asked(shares)
			answers, err := drop.Collect(ctx, runID)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("PRICES_FOLDER: %w", err)
			}
			return answers, err
		}
	case prices.Nasdaq(nil).ID:
		of.SplitBetween = prices.SplitBetween
	}
	return of
}

// asked converts shares to the form of the price sources.
func asked(shares []companies.Share) []prices.Share {
	list := make([]prices.Share, len(shares))
	for i, s := range shares {
		list[i] = prices.Share{CIK: s.CIK, Ticker: s.Ticker, Fund: equity.IsFund(s.CIK)}
	}
	return list
}

// universe reads UNIVERSE, and the file that it may name.
func (p *program) universe() (companies.Universe, error) {
	text := p.settings.Universe
	if name, ok := strings.CutPrefix(text, "@"); ok {
		raw, err := os.ReadFile(name)
		if err != nil {
			return companies.Universe{}, fmt.Errorf("UNIVERSE: %w", err)
		}
		text = string(raw)
	}
	u, err := companies.ParseUniverse(text)
	if err != nil {
		return u, fmt.Errorf("UNIVERSE: %w", err)
	}
	return u, nil
}
