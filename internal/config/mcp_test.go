package config

import (
	"slices"
	"strings"
	"testing"
)

// Origins have the form of browsers' origins: a scheme and a host, without a path.
func TestMCPOrigins(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want []string
		bad  string
	}{
		{"", nil, ""},
		{"*", []string{"*"}, ""},
		{"https://a.example, http://localhost:3000", []string{"https://a.example", "http://localhost:3000"}, ""},
		{"https://a.example/", nil, `"https://a.example/"`},
		{"https://a.example/app", nil, `"https://a.example/app"`},
		{"a.example", nil, `"a.example"`},
		{"https://a.example,null", nil, `"null"`},
	} {
		var s Settings
		s.MCPAllowedOrigins = tt.text
		said := ""
		if err := s.Validate(); err != nil { // other settings are missing, too
			for line := range strings.Lines(err.Error()) {
				if strings.HasPrefix(line, "MCP_ALLOWED_ORIGINS") {
					said += line
				}
			}
		}
		if tt.bad != "" && !strings.Contains(said, tt.bad) || tt.bad == "" && said != "" {
			t.Errorf("%q: %q, want %q in it", tt.text, said, tt.bad)
		}
		if got := s.MCPOrigins(); tt.bad == "" && !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}
