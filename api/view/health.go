package view

// Health is the body of /healthz and /readyz: names, and no detail.
type Health struct {
	OK bool `json:"ok"`
	// Missing names what the program still waits for.
	Missing []string `json:"missing"`
	// Degraded names the unavailable dependencies while the service still responds from memory.
	Degraded []string `json:"degraded"`
}
