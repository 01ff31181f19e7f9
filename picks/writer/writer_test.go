package writer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/calendar"
	"tidemark/equity"
	"tidemark/picks"
	"tidemark/picks/writer"
)

// brief is about the best of some invented companies.
func brief(t *testing.T) picks.Brief {
	t.Helper()
	day := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	m := picks.Market{Day: day}
	for i := range 6 {
		c := picks.Candidate{Company: equity.Company{
			CIK: equity.CIK(100 + i), Name: fmt.Sprintf("Company %c Inc.", 'A'+i), SIC: 7372, Location: "CA",
			Listings: []equity.Listing{{Ticker: fmt.Sprintf("CO%c", 'A'+i), Exchange: "XNYS"}},
		}}
		for year := 2023; year <= 2025; year++ {
			f := equity.Fact{
				CIK: c.Company.CIK, Taxonomy: "us-gaap", Unit: "USD", End: time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC), Form: "10-K",
				Filed: time.Date(year+1, 2, 10, 0, 0, 0, 0, time.UTC), Accession: fmt.Sprintf("%010d-%d-000001", 100+i, year%100+1),
			}
			for tag, v := range map[string]float64{
				"Revenues": 10, "NetIncomeLoss": 1 + float64(i)/10, "NetCashProvidedByUsedInOperatingActivities": 2, "OperatingIncomeLoss": 1.5,
				"GrossProfit": 4, "PaymentsToAcquirePropertyPlantAndEquipment": 0.5,
			} {
				one := f
				one.Tag, one.Start, one.Value = tag, f.End.AddDate(-1, 0, 1), v*1e9
				c.Facts = append(c.Facts, one)
			}
			for tag, v := range map[string]float64{"Assets": 12, "StockholdersEquity": 6, "AssetsCurrent": 3, "LiabilitiesCurrent": 2, "LongTermDebtNoncurrent": 2} {
				one := f
				one.Tag, one.Value = tag, v*1e9
				c.Facts = append(c.Facts, one)
			}
			shares := f
			shares.Taxonomy, shares.Tag, shares.Unit, shares.Value = "dei", "EntityCommonStockSharesOutstanding", "shares", 2e8
			c.Facts = append(c.Facts, shares)
		}
		for _, d := range calendar.Between(day.AddDate(-1, -3, 0), day) {
			n := float64(d.Unix() / 86400)
			price, err := equity.PriceOf(100+5*math.Sin(n/30+float64(i))+math.Sin(n*float64(i+2)), 2)
			if err != nil {
				t.Fatal(err)
			}
			c.History.Bars = append(c.History.Bars, equity.Bar{CIK: c.Company.CIK, Date: d, Close: price, Volume: 1e6})
		}
		m.Candidates = append(m.Candidates, c)
	}
	r := picks.Rank(m, picks.DefaultRules())
	if r.Pick == nil {
		t.Fatal(r.NoPick, r.Excluded)
	}
	return picks.NewBrief(r, *r.Pick, nil)
}

// question is a request as the publisher's reference has it.
type question struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	System    []struct {
		Text string `json:"text"`
	} `json:"system"`
	Messages []struct {
		Role    string `json:"role"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	} `json:"messages"`
	OutputConfig struct {
		Format struct {
			Type   string         `json:"type"`
			Schema map[string]any `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

// answered is a writer whose API answers a question's draft with what edit makes of it.
func answered(t *testing.T, stop string, edit func(draft map[string]string) string) (*writer.Writer, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		body, err := io.ReadAll(r.Body)
		var q question
		if err = errors.Join(err, json.Unmarshal(body, &q)); err != nil {
			t.Error(err)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != "the-key" || r.Header.Get("Anthropic-Version") == "" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		if q.Model != "some-model" || q.MaxTokens == 0 || len(q.System) != 1 || len(q.Messages) != 1 || q.OutputConfig.Format.Type != "json_schema" {
			t.Errorf("asked %s", body)
		}
		if edit == nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"no credit"}}`)
			return
		}
		var given struct {
			Draft map[string]string `json:"draft"`
		}
		if err := json.Unmarshal([]byte(q.Messages[0].Content[0].Text), &given); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": q.Model, "stop_reason": stop,
			"content": []map[string]any{{"type": "text", "text": edit(given.Draft)}}, "usage": map[string]int{"input_tokens": 1, "output_tokens": 1},
		})
	}))
	t.Cleanup(srv.Close)
	return writer.New(writer.Options{APIKey: "the-key", Model: "some-model", URL: srv.URL, Client: srv.Client()}), &asked
}

// reworded is the draft with other words in its summary.
func reworded(summary string) func(map[string]string) string {
	return func(draft map[string]string) string {
		draft["summary_why"] += " " + summary
		text, _ := json.Marshal(draft)
		return string(text)
	}
}

func TestWordsAreTakenAndNumbersAreNot(t *testing.T) {
	t.Parallel()
	b := brief(t)
	for _, c := range []struct {
		name, stop string
		edit       func(map[string]string) string
		refused    string // a part of why
	}{
		{"other words", "end_turn", reworded("Sometimes that is enough."), ""},
		{"a number of the facts", "end_turn", reworded("It is ranked 1."), ""},
		{"a number that is no fact", "end_turn", reworded("It may gain 37% in a year."), "37"},
		{"an empty text", "end_turn", func(map[string]string) string { return `{"summary_why":"A","what_it_does":"B"}` }, "a text is empty"},
		{"no JSON", "end_turn", func(map[string]string) string { return "Of course!" }, "not of the form"},
		{"an answer that was cut off", "max_tokens", reworded("A."), "ended with max_tokens"},
		{"a refusal", "refusal", reworded("A."), "ended with refusal"},
		{"an error of the API", "", nil, "no credit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, asked := answered(t, c.stop, c.edit)
			for _, lang := range []picks.Lang{picks.English, picks.Hindi} {
				ruled, err := picks.WriteResearch(b, lang)
				if err != nil {
					t.Fatal(err)
				}
				got, refused, err := picks.Compose(t.Context(), w, b, lang)
				if err != nil {
					t.Fatal(err)
				}
				if c.refused == "" {
					if refused != nil || got.SummaryWhy == ruled.SummaryWhy || got.FullResearch != ruled.FullResearch {
						t.Errorf("%s: refused for %v, the summary is %q", lang, refused, got.SummaryWhy)
					}
					continue
				}
				if refused == nil || !strings.Contains(refused.Error(), c.refused) || got != ruled {
					t.Errorf("%s: refused for %v, want %q and the texts by rule", lang, refused, c.refused)
				}
			}
			if n := asked.Load(); n != 2 {
				t.Errorf("asked %d times for two languages", n)
			}
		})
	}
}

func TestAnAPIThatIsAwayDelaysNothingForLong(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	w := writer.New(writer.Options{APIKey: "the-key", URL: srv.URL})
	if w.Name() != writer.DefaultModel {
		t.Errorf("the model is %s", w.Name())
	}
	got, refused, err := picks.Compose(t.Context(), w, brief(t), picks.Spanish)
	if err != nil || refused == nil || got.SummaryWhy == "" {
		t.Errorf("%q, refused for %v (%v)", got.SummaryWhy, refused, err)
	}
}
