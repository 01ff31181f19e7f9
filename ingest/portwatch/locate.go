package portwatch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// locate finds the attribute of a day in a page.
func locate(r ingest.Response, id series.ID, observedAt time.Time) (ingest.Place, bool) {
	field, ours := strings.CutPrefix(string(id), "portwatch."+chokepoint+".")
	if !ours {
		return ingest.Place{}, false
	}
	day := observedAt.UTC().Format(time.DateOnly)
	feature := regexp.MustCompile(`\{[^{}]*"date"\s*:\s*(?:"` + day + `"|` + strconv.FormatInt(observedAt.UnixMilli(), 10) + `\b)[^{}]*\}`).FindIndex(r.Body)
	if feature == nil {
		return ingest.Place{}, false
	}
	value := regexp.MustCompile(`"` + regexp.QuoteMeta(field) + `"\s*:\s*(-?[0-9][0-9.eE+-]*)`).FindSubmatchIndex(r.Body[feature[0]:feature[1]])
	if value == nil {
		return ingest.Place{}, false
	}
	return ingest.Place{
		Offset: feature[0] + value[2], Length: value[3] - value[2], Where: fmt.Sprintf("attribute %q of the feature of %s", field, day),
	}, true
}
