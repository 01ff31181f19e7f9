package view

// X402InfoBody is the body of /x402/info.
type X402InfoBody struct {
	Data X402Info `json:"data"`
}

// X402Info says what is sold by request, and how it is paid.
type X402Info struct {
	// Versions are those of the protocol, Headers the fields that carry a payment, version by version.
	Versions []int    `json:"x402_versions"`
	Headers  []string `json:"headers"`
	// Network is what version 1 calls the network, or the CAIP-2 name where version 1 has none.
	Network     string         `json:"network"`
	CAIP2       string         `json:"caip2"`
	Asset       X402Asset      `json:"asset"`
	PayTo       string         `json:"pay_to"`
	Facilitator string         `json:"facilitator"`
	Resources   []X402Resource `json:"resources"`
}

// X402Asset is the token that is paid in.
type X402Asset struct {
	Symbol   string `json:"symbol"`
	Address  string `json:"address"`
	Decimals int    `json:"decimals"`
}

// X402Resource is something that is sold by request.
type X402Resource struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	// Price is in US dollars.
	Price           string `json:"price"`
	Description     string `json:"description"`
	OutputSchemaRef string `json:"output_schema_ref"`
}

// X402Descriptions says in a few words what is sold at the paths below /api/v1/x402. Clients and catalogs of paid resources show it.
var X402Descriptions = map[string]string{
	"/picks":               "All stock picks with their returns",
	"/picks/latest":        "The latest stock pick",
	"/research/{ticker}":   "Full research report on one stock",
	"/portfolio":           "Summary of the model portfolio",
	"/portfolio/positions": "All positions of the model portfolio",
	"/portfolio/history":   "Daily performance of the model portfolio",
	"/sectors":             "The model portfolio by sector",
	"/regions":             "The model portfolio by region",
	"/stocks":              "All researched stocks",
}

// X402Schemas are the names of their bodies in the machine-readable description.
var X402Schemas = map[string]string{
	"/picks":               "PickList",
	"/picks/latest":        "PickLatest",
	"/research/{ticker}":   "ResearchReport",
	"/portfolio":           "PortfolioSummary",
	"/portfolio/positions": "PositionList",
	"/portfolio/history":   "PortfolioHistory",
	"/sectors":             "SectorList",
	"/regions":             "RegionList",
	"/stocks":              "StockList",
}
