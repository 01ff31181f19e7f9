package openapi_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"tidemark/accounts"
	"tidemark/api/endpoint"
	"tidemark/api/openapi"
)

func TestTheDescriptionIsOfThisInstallation(t *testing.T) {
	t.Parallel()
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "/events=0.001,/digest/latest=0.25")
	if err != nil {
		t.Fatal(err)
	}
	docs := openapi.New("https://signals.test:8443/", tariff)
	for name, body := range map[string][]byte{
		"service": docs.Service().Identity.Body, "YAML": docs.ServiceYAML().Identity.Body, "signals": docs.Signals().Identity.Body,
	} {
		if bytes.Contains(body, []byte("tidemark.example")) {
			t.Errorf("%s: another host is named", name)
		}
	}
	var doc struct {
		OpenAPI string
		Servers []struct{ URL string }
		Paths   map[string]struct {
			Get struct {
				Price *string `json:"x-price-usd"`
			}
		}
	}
	if err := json.Unmarshal(docs.Service().Identity.Body, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || len(doc.Servers) != 1 || doc.Servers[0].URL != "https://signals.test:8443" {
		t.Errorf("OpenAPI %s at %v", doc.OpenAPI, doc.Servers)
	}
	have := map[string]string{}
	for path, item := range doc.Paths {
		if item.Get.Price != nil {
			have[strings.TrimPrefix(path, "/api/v1")] = *item.Get.Price
		}
	}
	// The prices of the interface, twice, and the operator's prices.
	want := map[string]string{"/events": "0.001", "/economic-events": "0", "/digest/latest": "0.25"}
	for _, e := range endpoint.All() {
		if e.Fixed { // a test of api/endpoint compares its price with the interface
			want[e.Path], want["/x402"+e.Path] = e.Price.Shortest(), e.Price.Shortest()
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("prices, -want +got:\n%s", diff)
	}
}

func TestYAMLAndJSONSayTheSame(t *testing.T) {
	t.Parallel()
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	docs := openapi.New("https://signals.test", tariff)
	var fromJSON, fromYAML any
	if err := json.Unmarshal(docs.Service().Identity.Body, &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(docs.ServiceYAML().Identity.Body, &fromYAML); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(fromYAML) // convert numbers to one type
	if err != nil {
		t.Fatal(err)
	}
	fromYAML = nil
	if err := json.Unmarshal(again, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Errorf("-JSON +YAML:\n%s", diff)
	}
	if !bytes.HasPrefix(docs.ServiceYAML().Identity.Body, []byte("openapi: \"3.1.0\"\n")) {
		t.Errorf("the YAML begins with %.40q", docs.ServiceYAML().Identity.Body)
	}
	// YAML 1.2 parsers read 0x and digits as a number of any length.
	if bare := regexp.MustCompile(`(?m)^.*: 0x[0-9a-fA-F]+$`).Find(docs.ServiceYAML().Identity.Body); bare != nil {
		t.Errorf("an address stands without quotes: %s", bare)
	}
}

// The interface defines the version of the Signals API's description and its two paths.
func TestTheSignalsAPIIsDescribedAlone(t *testing.T) {
	t.Parallel()
	tariff, err := endpoint.NewTariff(accounts.ModelPlan, "")
	if err != nil {
		t.Fatal(err)
	}
	docs := openapi.New("https://signals.test", tariff)
	var doc struct {
		OpenAPI string
		Info    struct{ Version string }
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID string
			Security    []any
		}
	}
	if err := json.Unmarshal(docs.Signals().Identity.Body, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.0.0" || doc.Servers[0].URL != "https://signals.test/api/signals" {
		t.Errorf("OpenAPI %s, version %s, at %v", doc.OpenAPI, doc.Info.Version, doc.Servers)
	}
	for _, path := range []string{"/", "/{id}", "/{id}/history"} {
		if op := doc.Paths[path]["get"]; op.OperationID == "" || op.Security == nil || len(op.Security) != 0 {
			t.Errorf("GET %s: operation %q, security %v, want one that is open to all", path, op.OperationID, op.Security)
		}
	}
}
