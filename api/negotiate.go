package api

import (
	"slices"
	"strconv"
	"strings"
)

// accepts reports whether an Accept header allows a media type (RFC 9110, section 12.5.1).
func accepts(header []string, major, minor string) bool {
	return len(header) == 0 || acceptance(header, major, minor) > 0
}

// acceptance returns the weight of a media type in an Accept header: the weight of the most specific range that matches it, or 0. It
// ignores range parameters other than the weight.
func acceptance(header []string, major, minor string) float64 {
	return weight(header, func(name string) int {
		m, n, _ := strings.Cut(name, "/")
		switch {
		case strings.EqualFold(m, major) && strings.EqualFold(n, minor):
			return 3
		case strings.EqualFold(m, major) && n == "*":
			return 2
		case m == "*" && n == "*":
			return 1
		}
		return 0
	})
}

// prefersHTML reports whether a client prefers a page to JSON, as browsers do.
func prefersHTML(header []string) bool {
	html := acceptance(header, "text", "html")
	return html > acceptance(header, "application", "json") && html > acceptance(header, "application", "problem+json")
}

// acceptsGzip reports whether an Accept-Encoding header allows gzip and does not prefer the uncompressed body (RFC 9110, section 12.5.3).
func acceptsGzip(header []string) bool {
	if len(header) == 0 {
		return false
	}
	gzip := weight(header, func(name string) int {
		switch {
		case strings.EqualFold(name, "gzip"), strings.EqualFold(name, "x-gzip"):
			return 2
		case name == "*":
			return 1
		}
		return 0
	})
	return gzip > 0 && gzip >= weight(header, func(name string) int {
		if strings.EqualFold(name, "identity") {
			return 1
		}
		return 0
	})
}

// weight returns the q of the element with the highest rank, or 0 if no element has a rank. It does not allocate.
func weight(header []string, rank func(name string) int) float64 {
	best, q := 0, 0.0
	for _, line := range header {
		for element := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(element, ";")
			if r := rank(strings.TrimSpace(name)); r > best {
				best, q = r, quality(params)
			}
		}
	}
	return q
}

// quality parses the q of an element's parameters. It is 1 if q is missing or not a number.
func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(key, "q") {
			continue
		}
		if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 1
}

// hasTag reports whether an If-None-Match header contains an entity tag. The comparison is weak, as RFC 9110 requires for this header.
func hasTag(header []string, tag string) bool {
	for _, line := range header {
		for element := range strings.SplitSeq(line, ",") {
			element = strings.TrimSpace(element)
			if element == "*" || strings.TrimPrefix(element, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// namedTags returns an If-None-Match header without "*". For what has a price only tags that the client names count: "*" also matches what
// the client never had.
func namedTags(header []string) []string {
	if !slices.ContainsFunc(header, func(line string) bool { return strings.Contains(line, "*") }) {
		return header
	}
	var tags []string
	for _, line := range header {
		for element := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(element) != "*" {
				tags = append(tags, element)
			}
		}
	}
	return tags
}
