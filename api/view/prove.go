package view

import (
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
)

// ProvenVintages is the body of /api/vintages/prove: which bytes of a source held the newest word about a day at an instant.
type ProvenVintages struct {
	Source string    `json:"source"`
	Date   string    `json:"date"`
	AsOf   time.Time `json:"as_of"`
	// Data are the bodies, the newest first.
	Data        []ProvenBody `json:"data"`
	HowToVerify string       `json:"how_to_verify"`
	Environment string       `json:"environment"`
	Disclaimer  string       `json:"disclaimer"`
}

// ProvenBody is an archived body and its leaf in the log of sources.
type ProvenBody struct {
	URL         string    `json:"url"`
	RetrievedAt time.Time `json:"retrieved_at"`
	SHA256      string    `json:"sha256"`
	Bytes       int64     `json:"bytes"`
	// Series are the series with values in the body.
	Series []series.ID `json:"series"`
	// LogIndex is the number of its leaf, ProofURL the file that proves it offline. Both are null while no signed size of the log has it.
	LogIndex *int64  `json:"log_index"`
	ProofURL *string `json:"proof_url"`
}

// NewProvenVintages builds the response.
func (v *View) NewProvenVintages(source, date string, asOf time.Time, bodies []postgres.KnownBody) ProvenVintages {
	o := Options{World: v.o.World}
	out := ProvenVintages{
		Source: source, Date: date, AsOf: asOf, Data: make([]ProvenBody, len(bodies)), HowToVerify: v.o.PublicURL + "/docs",
		Environment: o.environment(), Disclaimer: o.disclaimer(v.o.World == WorldSandbox),
	}
	for i, b := range bodies {
		out.Data[i] = ProvenBody{URL: b.URL, RetrievedAt: b.FetchedAt, SHA256: b.SHA256, Bytes: b.Bytes, Series: b.Series, LogIndex: b.LogIndex}
		if b.LogIndex != nil {
			out.Data[i].ProofURL = new(v.sourceProofURL(*b.LogIndex))
		}
	}
	return out
}
