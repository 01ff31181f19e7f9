package api_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api"
	"tidemark/api/discovery"
	"tidemark/api/endpoint"
	"tidemark/api/mcp"
	"tidemark/api/openapi"
	"tidemark/api/openapi/contract"
	"tidemark/api/pages"
	"tidemark/api/view"
)

// description is the published description of the service.
var description = sync.OnceValues(func() (*contract.Description, error) {
	text, err := os.ReadFile("openapi/service.json")
	if err != nil {
		return nil, err
	}
	return contract.Parse(text)
})

// asDescribed fails the test if a response does not match the description.
func asDescribed(t testing.TB, method, path string, a answer) {
	t.Helper()
	// The description of the signals is at a path where ids are. A long response has the form of a short one and takes long to validate.
	if strings.HasSuffix(path, "/openapi.json") || len(a.body) > 64<<10 {
		return
	}
	d, err := description()
	if err != nil {
		t.Fatal(err)
	}
	err = d.Check(method, path, contract.Answer{Status: a.StatusCode, Header: a.Header, Body: a.body})
	if err != nil && !errors.Is(err, contract.ErrNotDescribed) {
		t.Errorf("not as described: %v", err)
	}
}

// This test fails if an address is in the server but not in the description.
func TestEveryAddressIsDescribed(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	p.early = true // with every endpoint that an installation may have
	server, _ := p.show(quiet)
	o := p.everything()
	var have, want []string
	for _, op := range openapi.Operations() {
		have = append(have, op.Method+" "+op.Path)
	}
	for _, r := range server.Routes() {
		method, path := r[0], r[1]
		switch {
		case slices.Contains(o.Discovery.Paths(), path), strings.HasSuffix(path, "{$}"):
			continue // the descriptions themselves, and an address with an extra slash
		case !strings.HasPrefix(path, "/api/") && path != "/healthz" && path != "/readyz":
			continue // pages
		}
		want = append(want, method+" "+path)
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("-served +described:\n%s", diff)
	}
}

// everything returns the options of a server with every address.
func (p *published) everything() api.Options {
	t := p.t
	t.Helper()
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	record, err := view.NewRecord(view.RecordOptions{Store: p.db, PublicURL: p.url, World: view.WorldSandbox, Now: time.Now, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	told := discovery.New(discovery.Options{PublicURL: p.url, Tariff: tariff, View: p.view, Sells: true, MCP: true, Now: time.Now})
	door, err := mcp.New(mcp.Options{View: p.view, Record: record, Publications: p.publications, Definitions: definitions(), PublicURL: p.url, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	html, err := pages.New(pages.Options{PublicURL: p.url, World: view.WorldSandbox, View: p.view, Record: record, Publications: p.publications, Dashboard: true, Pushed: true, Free: p.free})
	if err != nil {
		t.Fatal(err)
	}
	seller, err := x402.NewSeller(x402.Settings{Network: "base", PayTo: payTo})
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := x402.NewClient(x402.Options{URL: "http://127.0.0.1:1", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return api.Options{
		TransparencyLog: p.db, Pushes: p.db, Free: p.free, Datasets: p.db, View: p.view, Record: record, Publications: p.publications, Data: api.Data(p.publications), Log: quiet,
		Discovery: told, Pages: html,
		Accounts: &api.Accounts{DB: p.db, Tariff: tariff, Now: time.Now},
		Payments: api.NewPayments(api.PaymentsOptions{Seller: seller, Facilitator: nobody, Tariff: tariff, Store: p.db, Now: time.Now, Log: quiet}),
		Agents:   &api.AgentOptions{Handler: door},
	}
}

// The description contains the schemas that x402 clients are referred to.
func TestTheSchemasOfWhatIsSoldAreDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi/service.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range endpoint.All() {
		if e.Sold != "" && !strings.Contains(string(text), "\n   \""+e.Body.Schema+"\": {") {
			t.Errorf("the description has no schema %s of %s", e.Body.Schema, e.Path)
		}
	}
}
