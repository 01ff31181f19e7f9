package ingest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// ascii writes dashes, minus signs and blanks as ASCII has them.
var ascii = strings.NewReplacer("\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2212", "-",
	"\u00a0", " ", "\u2009", " ", "\u200b", "")

// PageText is the text of an HTML page on one line, scripts and styles left out, its dashes and blanks those of ASCII.
func PageText(body []byte) (string, error) {
	page, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("want a page: %w", err)
	}
	var b strings.Builder
	for n := range page.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" {
			b.WriteString(n.Data)
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(ascii.Replace(b.String())), " "), nil
}

// Decimal reads a plain decimal number: digits, a point and a sign, and none of the other forms that strconv takes. What rounds to nothing
// from below, such as -0.0, is 0: it is no other value than that, and must not look like one.
func Decimal(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.-") != "" {
		return 0, fmt.Errorf("%.40q is no number", s)
	}
	if v == 0 {
		return 0, nil
	}
	return v, nil
}
