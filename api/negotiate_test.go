package api

import "testing"

func TestAcceptsJSON(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header []string
		want   bool
	}{
		"no header":                              {nil, true},
		"anything":                               {[]string{"*/*"}, true},
		"a browser's":                            {[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, true},
		"by name":                                {[]string{"application/json"}, true},
		"in capitals, with a parameter":          {[]string{"Application/JSON; charset=utf-8"}, true},
		"its type":                               {[]string{"application/*;q=0.1"}, true},
		"in a second line":                       {[]string{"text/html", "application/json"}, true},
		"something else":                         {[]string{"application/xml"}, false},
		"something that begins alike":            {[]string{"application/json-seq"}, false},
		"refused":                                {[]string{"application/json;q=0"}, false},
		"refused, though anything is welcome":    {[]string{"*/*, application/json; q=0.000"}, false},
		"its type is refused, it is not":         {[]string{"application/*;q=0, application/json"}, true},
		"a weight beyond the scale is no weight": {[]string{"application/json;q=7"}, true},
		"an empty header names nothing":          {[]string{""}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := accepts(tt.header, "application", "json"); got != tt.want {
				t.Errorf("accepts(%q) = %v, want %v", tt.header, got, tt.want)
			}
		})
	}
}

func TestPrefersHTML(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header []string
		want   bool
	}{
		"a browser":            {[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, true},
		"curl":                 {[]string{"*/*"}, false},
		"no header":            {nil, false},
		"a program":            {[]string{"application/json"}, false},
		"both alike":           {[]string{"text/html, application/json"}, false},
		"JSON rather":          {[]string{"text/html;q=0.5, application/json"}, false},
		"a problem rather":     {[]string{"text/html;q=0.5, application/problem+json"}, false},
		"HTML rather":          {[]string{"text/html, application/json;q=0.9"}, true},
		"anything but no HTML": {[]string{"*/*, text/html;q=0"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := prefersHTML(tt.header); got != tt.want {
				t.Errorf("prefersHTML(%q) = %v, want %v", tt.header, got, tt.want)
			}
		})
	}
}

// The first six are the examples of RFC 9110, section 12.5.3.
func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header []string
		want   bool
	}{
		"compress, gzip":                     {[]string{"compress, gzip"}, true},
		"empty":                              {[]string{""}, false},
		"anything":                           {[]string{"*"}, true},
		"weights":                            {[]string{"compress;q=0.5, gzip;q=1.0"}, true},
		"gzip, then plain, then nothing":     {[]string{"gzip;q=1.0, identity; q=0.5, *;q=0"}, true},
		"no header":                          {nil, false},
		"a browser's":                        {[]string{"gzip, deflate, br, zstd"}, true},
		"gzip under its old name":            {[]string{"x-gzip"}, true},
		"in capitals":                        {[]string{"GZIP"}, true},
		"only another":                       {[]string{"br"}, false},
		"refused":                            {[]string{"gzip;q=0"}, false},
		"anything but gzip":                  {[]string{"*, gzip;q=0"}, false},
		"plain is liked better":              {[]string{"identity, gzip;q=0.5"}, false},
		"both alike: the shorter one":        {[]string{"identity, gzip"}, true},
		"a coding whose name begins with it": {[]string{"gzipped"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := acceptsGzip(tt.header); got != tt.want {
				t.Errorf("acceptsGzip(%q) = %v, want %v", tt.header, got, tt.want)
			}
		})
	}
}
