package ecb

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html"

	"tidemark/ingest"
	"tidemark/series"
)

// ratesPattern is the sentence that states the three rates, in the order in which it names them. The deposit facility comes first since
// September 2024, before that it came last.
var ratesPattern = regexp.MustCompile(`[Ii]nterest rates? on ([^.%]{30,250}?) will (?:remain unchanged at|be \w+ (?:by [^%.]{1,40} )?to) (-?\d+\.\d+)%, (-?\d+\.\d+)% and (-?\d+\.\d+)%`)

// facilities are the names in that sentence.
var facilities = [3]string{"deposit facility", "main refinancing operations", "marginal lending facility"}

// parseRelease reads the deposit facility rate that was decided on.
func parseRelease(day time.Time, body []byte) (ingest.Batch, error) {
	text, err := textOf(body)
	if err != nil {
		return ingest.Batch{}, err
	}
	m := ratesPattern.FindStringSubmatch(text)
	if m == nil {
		return ingest.Batch{}, errors.New("no sentence that states the three interest rates")
	}
	place := 0
	for _, name := range facilities {
		at := strings.Index(m[1], name)
		if at < 0 || strings.Count(m[1], name) != 1 {
			return ingest.Batch{}, fmt.Errorf("the %s is not among %.120q, or more than once", name, m[1])
		}
		if at < strings.Index(m[1], facilities[0]) {
			place++
		}
	}
	rate, err := percent(m[2+place])
	if err != nil {
		return ingest.Batch{}, err
	}
	return ingest.Batch{Readings: []series.Reading{{Series: decided, ObservedAt: day, Value: rate}}}, nil
}

// plain writes dashes, minus signs and blanks as ASCII has them.
var plain = strings.NewReplacer("\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2212", "-", "\u00a0", " ", "\u2009", " ", "\u200b", "")

// textOf is the text of a page on one line, scripts and styles left out.
func textOf(body []byte) (string, error) {
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
	return strings.Join(strings.Fields(plain.Replace(b.String())), " "), nil
}
