package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// sellEarly starts a server in the balance model that shows sealed picks early if its setting says so.
func (p *published) sellEarly(setting bool) {
	t := p.t
	t.Helper()
	newTariff := endpoint.NewTariff
	if setting {
		newTariff = endpoint.NewEarlyTariff
	}
	tariff, err := newTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return calendar.At(date(t, canaryDay), 17*time.Hour+45*time.Minute) }
	p.publications, err = view.NewPublications(view.PublicationsOptions{
		Store: p.db, PublicURL: "https://tidemark.example/", World: view.WorldSandbox, Now: now, Log: slog.New(slog.DiscardHandler),
		Info: view.InfoOptions{Version: "1", Tariff: tariff}, PicksEarly: setting,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.run(p.publications.Run)
	p.eventually("the first load", func() bool { return p.publications.State() != nil })
	p.serve(api.Options{
		View: p.view, Publications: p.publications, Data: api.Data(p.publications), Log: quiet,
		Accounts: &api.Accounts{DB: p.db, Tariff: tariff, Now: time.Now},
	})
}

// topUp adds to the balance of each key, as the operator does.
func (p *published) topUp(micros accounts.Micros) {
	t := p.t
	t.Helper()
	list, err := p.worker.Keys(t.Context(), postgres.KeyFilter{Limit: 10})
	if err != nil || len(list) == 0 {
		t.Fatal(err)
	}
	for _, k := range list {
		if _, err := p.worker.Credit(t.Context(), k.ID, micros, postgres.Gift{Ref: "a gift to " + k.PublicID, By: "tester", Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	}
}

// A reader who pays sees the sealed pick once its seal is cosigned, can check the opening against the commitment in the log, and pays once.
// A trial balance does not buy it. The database shows nothing where the workers' setting does not allow it, whatever the API's says.
func TestOnlyReadersWhoPaySeeASealedPickEarly(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	p.early = true
	sealed := p.keepLog()
	p.key = p.newKey(p.db, 0)
	p.sellEarly(true)
	status := func(what string, want int) answer {
		t.Helper()
		a := p.paid("/picks/early")
		if a.StatusCode != want {
			t.Errorf("%s: %d, want %d: %s", what, a.StatusCode, want, a.body)
		}
		return a
	}
	status("before the pick is made", http.StatusNotFound)
	secrets := append(p.hatch(), sealed.secrets()...)
	status("before its witnesses cosign", http.StatusNotFound)
	sealed.cosign()

	for _, a := range []answer{status("with a trial balance", http.StatusPaymentRequired), p.ask(http.MethodGet, "/api/v1/picks/early"), p.ask(http.MethodHead, "/api/v1/picks/early", "Authorization", "Bearer "+p.key)} {
		for _, s := range secrets {
			if strings.Contains(string(a.body), s) {
				t.Errorf("%d has %s", a.StatusCode, s)
			}
		}
		if a.StatusCode == http.StatusOK && (len(a.body) > 0 || a.Header.Get("ETag") != "" || a.Header.Get("Content-Length") != "") {
			t.Errorf("HEAD tells of the pick: %v", a.Header)
		}
	}
	p.topUp(500_000)
	a := status("with a balance", http.StatusOK)
	if cost := a.Header.Get("X-Request-Cost"); cost != "0.25" {
		t.Errorf("it cost %s", cost)
	}
	if c := a.Header.Get("Cache-Control"); c != "private, no-cache" {
		t.Errorf("caches may keep it: %s", c)
	}
	var got view.One[view.EarlyPick]
	if err := json.Unmarshal(a.body, &got); err != nil {
		t.Fatal(err)
	}
	e := got.Data
	salt, err := hex.DecodeString(e.Seal.Salt)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("tidemark/seal/v1\n" + string(salt) + e.Seal.Content))
	link := sha256.Sum256([]byte(e.Seal.Content))
	if hex.EncodeToString(sum[:]) != e.Seal.Commitment || e.Seal.Commitment != sealed.commitment || hex.EncodeToString(link[:]) != e.Hash {
		t.Errorf("the opening does not fit: %+v, the log has %s", e, sealed.commitment)
	}
	if want := canaryTicker + "|" + canaryPrice + "|" + canaryDay + "|" + e.PreviousHash; e.Seal.Content != want || e.Ticker != canaryTicker || e.Price != canaryPrice {
		t.Errorf("%+v, want %s", e, want)
	}

	p.allowEarly(false)
	status("where the workers do not allow it", http.StatusNotFound)
	p.allowEarly(true)
	p.sellEarly(false)
	status("where the API does not allow it", http.StatusNotFound)
	p.sellEarly(true)
	status("again", http.StatusOK)

	at := calendar.At(date(t, canaryDay), 18*time.Hour)
	if err := p.worker.SetClock(t.Context(), &at); err != nil {
		t.Fatal(err)
	}
	if _, err := p.worker.AnnounceDue(t.Context(), task.Fence{}, at); err != nil {
		t.Fatal(err)
	}
	status("after the announcement", http.StatusNotFound)
}

// allowEarly begins the log again with another setting of the workers.
func (p *published) allowEarly(allow bool) {
	t := p.t
	t.Helper()
	heads, err := p.worker.LogHeads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := heads[0]
	if err := p.worker.BeginLog(t.Context(), postgres.LogStart{Log: h.Log, Origin: h.Origin, VKey: h.VKey, Environment: "demo", PicksEarly: allow}); err != nil {
		t.Fatal(err)
	}
}
