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

// PageText is the text of an HTML page on one line, without scripts and styles, with ASCII dashes and blanks.
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

// Decimal reads a plain decimal number: digits, a point and a sign, and none of the other forms that strconv accepts. A negative zero,
// such as -0.0, becomes 0: it is the same value, and must not look different.
func Decimal(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.-") != "" {
		return 0, fmt.Errorf("%.40q is not a number", s)
	}
	if v == 0 {
		return 0, nil
	}
	return v, nil
}
