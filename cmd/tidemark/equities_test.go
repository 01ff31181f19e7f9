package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/scheduler"
)

func TestWhoIsAskedAboutCompanies(t *testing.T) {
	t.Parallel()
	const agent = "Example Research admin@example.com"
	for _, c := range []struct {
		fact     string
		world    string
		settings config.Companies
		asked    string
		missing  string // the setting that the operator is told to set
	}{
		{"a sandbox needs no setting", "sandbox", config.Companies{}, "edgar-companies edgar-current edgar-documents prices-yahoo", ""},
		{"a live world without settings asks nobody", "live", config.Companies{}, "", "SEC_USER_AGENT TIINGO_API_KEY PRICES_FOLDER PRICES_PERSONAL_USE"},
		{"nor does it ask for prices of nobody", "live", config.Companies{TiingoAPIKey: "key"}, "", "SEC_USER_AGENT"},
		{"companies without prices", "live", config.Companies{SECUserAgent: agent}, "edgar-companies edgar-current edgar-documents", "TIINGO_API_KEY PRICES_FOLDER PRICES_PERSONAL_USE"},
		{
			"a key counts before a folder, which is held against it; a third is not asked",
			"live",
			config.Companies{SECUserAgent: agent, TiingoAPIKey: "key", PricesFolder: "x", PricesPersonalUse: "yahoo"},
			"edgar-companies edgar-current edgar-documents prices-tiingo prices-csv", "",
		},
		{
			"a folder before what is only for personal use",
			"live",
			config.Companies{SECUserAgent: agent, PricesFolder: "x", PricesPersonalUse: "yahoo"},
			"edgar-companies edgar-current edgar-documents prices-csv prices-yahoo", "",
		},
		{"the operator's word", "live", config.Companies{SECUserAgent: agent, PricesPersonalUse: "nasdaq"}, "edgar-companies edgar-current edgar-documents prices-nasdaq", ""},
	} {
		p := &program{}
		p.settings.World, p.settings.Companies = c.world, c.settings
		var asked []string
		for _, s := range p.equitySchedule() {
			asked = append(asked, s.Subject)
			if _, err := scheduler.Parse(s); err != nil {
				t.Errorf("%s: %v", c.fact, err)
			}
		}
		if got := strings.Join(asked, " "); got != c.asked {
			t.Errorf("%s: %q is asked, want %q", c.fact, got, c.asked)
		}
		told := strings.Join(p.missingEquitySettings(), "\n")
		for _, setting := range []string{"SEC_USER_AGENT", "TIINGO_API_KEY", "PRICES_FOLDER", "PRICES_PERSONAL_USE"} {
			if want := slices.Contains(strings.Fields(c.missing), setting); strings.Contains(told, setting) != want {
				t.Errorf("%s: the operator is told %q, want %s to be named: %v", c.fact, told, setting, want)
			}
		}
	}
}

func TestTheUniverseMayStandInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "universe.txt")
	if err := os.WriteFile(file, []byte("AAPL # by ticker\n0000789019\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{}
	p.settings.Universe = "@" + file
	u, err := p.universe()
	if err != nil || len(u.Tickers) != 1 || len(u.CIKs) != 1 {
		t.Errorf("%+v (%v), want a ticker and a CIK", u, err)
	}
	for _, text := range []string{"@" + file + ".none", "top none", ""} {
		p.settings.Universe = text
		if _, err := p.universe(); err == nil || !strings.Contains(err.Error(), "UNIVERSE") {
			t.Errorf("%q: %v, want an error that names the setting", text, err)
		}
	}
}
