package edgar

import (
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
)

// accepted reads the instant when the SEC took a filing. It is written as UTC and mostly is. For about a fifth of the large companies,
// and for the newest filings of others, it is New York's time, also with the letter Z. (Others measured it on 64,936 filings against the
// headers of the filings themselves. In the recorded response for Microsoft, a report of 16:07 appears as 16:07Z above older reports whose
// times are true UTC.) The hours of the SEC and the date of the filing decide it in six cases of seven, after the close nearly always. If
// both or neither is possible, the instant is unknown. An empty text is also unknown.
func accepted(text, form string, filed time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	utc, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, err
	}
	year, month, day := utc.Date()
	local := time.Date(year, month, day, utc.Hour(), utc.Minute(), utc.Second(), 0, ingest.NewYork())
	switch first, second := possible(utc, form, filed), possible(local, form, filed); {
	case first && !second:
		return utc.UTC(), nil
	case second && !first:
		return local.UTC(), nil
	}
	return time.Time{}, nil
}

// possible reports whether a filing of a date can have been taken at an instant. The SEC takes filings from six in the morning to ten in
// the evening, and after half past five with the next business day's date. Some forms keep the day's date until ten.
func possible(at time.Time, form string, filed time.Time) bool {
	year, month, day := at.In(ingest.NewYork()).Date()
	taken := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	clock := at.In(ingest.NewYork()).Format(time.TimeOnly)
	switch {
	case clock < "06:00:00" || clock > "22:01:00":
		return false
	case untilTen(form):
		return !taken.After(filed)
	case clock > "17:31:00":
		return taken.Before(filed)
	}
	return taken.Equal(filed)
}

// untilTen reports whether a form is taken with the day's date until ten in the evening: the reports of insiders and large holders.
func untilTen(form string) bool {
	base := strings.TrimSuffix(form, "/A")
	return slices.Contains([]string{"3", "4", "5", "144"}, base) || strings.HasPrefix(base, "SC 13") || strings.HasPrefix(base, "SCHEDULE 13")
}
