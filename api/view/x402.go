package view

// X402InfoBody is the body of /x402/info.
type X402InfoBody struct {
	Data X402Info `json:"data"`
}

// X402Info says what is sold by request, and how it is paid.
type X402Info struct {
	// Versions are the versions of the protocol. Headers are the fields that carry a payment, version by version.
	Versions []int    `json:"x402_versions"`
	Headers  []string `json:"headers"`
	// Network is the network's name in version 1, or its CAIP-2 name if version 1 has none.
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
