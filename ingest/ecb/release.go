package ecb

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// ratesPattern is the sentence that states the three rates, in the order in which it names them. The deposit facility comes first since
// September 2024, before that it came last.
var ratesPattern = regexp.MustCompile(`[Ii]nterest rates? on ([^.%]{30,250}?) will (?:remain unchanged at|be \w+ (?:by [^%.]{1,40} )?to) (-?\d+\.\d+)%, (-?\d+\.\d+)% and (-?\d+\.\d+)%`)

// facilities are the names in that sentence.
var facilities = [3]string{"deposit facility", "main refinancing operations", "marginal lending facility"}

// parseRelease reads the deposit facility rate that was decided on.
func parseRelease(day time.Time, body []byte) (ingest.Batch, error) {
	text, err := ingest.PageText(body)
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
