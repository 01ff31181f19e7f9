package pages

import (
	"html/template"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		f            *float64
		want, signed string
	}{
		"unknown":                     {nil, "unknown", "unknown"},
		"four digits":                 {new(22.5), "22.50", "+22.50"},
		"noise is rounded away":       {new(26.479999999999997), "26.48", "+26.48"},
		"below one":                   {new(0.012345), "0.01235", "+0.01"},
		"one":                         {new(1.0), "1.000", "+1.00"},
		"whole from a thousand":       {new(15234.5), "15,234", "+15234.50"},
		"thousands twice":             {new(-1234567.0), "−1,234,567", "−1234567.00"},
		"negative":                    {new(-36.98), "−36.98", "−36.98"},
		"zero":                        {new(0.0), "0", "0.00"},
		"next to zero":                {new(-0.001), "−0.001000", "0.00"},
		"a concentration":             {new(0.0000512), "0.00005120", "0.00"},
		"tiny":                        {new(2.5e-9), "2.500e-09", "0.00"},
		"rounds up to the next digit": {new(9.99999), "10.000", "+10.00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := number(tt.f); got != tt.want {
				t.Errorf("number = %q, want %q", got, tt.want)
			}
			if got := signed(tt.f); got != tt.signed {
				t.Errorf("signed = %q, want %q", got, tt.signed)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	if got := instant(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)); got != "2026-03-02" {
		t.Errorf("a day: %q", got)
	}
	if got := instant(time.Date(2026, 3, 2, 17, 0, 0, 0, newYork)); got != "2026-03-02 22:00 UTC" {
		t.Errorf("an instant: %q", got)
	}
	for _, c := range []struct {
		lang    string
		seconds int64
		want    string
	}{{"en", 14 * 86400, "14 days"}, {"en", 86400, "24 hours"}, {"en", 5400, "1.5 hours"}, {"es", 5400, "1,5 horas"}, {"pt", 14 * 86400, "14 dias"}, {"hi", 86400, "24 घंटे"}} {
		if got := (localizer{Lang: picks.Lang(c.lang)}).Lasts(c.seconds); got != c.want {
			t.Errorf("%d seconds in %s: %q, want %q", c.seconds, c.lang, got, c.want)
		}
	}
}

// A mean of a month is of no day. The final of a crop is dated the first of January after it.
func TestAnObservationOfAMonthNamesTheMonth(t *testing.T) {
	t.Parallel()
	october, day := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)
	final := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		lang, id   string
		at         time.Time
		home, cell string
	}{
		{"en", "lng-arbitrage", october, `value for <time datetime="2026-10">October 2026</time>`, "2026-10<"},
		{"es", "tropomi-no2-economic", october, `dato de <time datetime="2026-10">octubre de 2026</time>`, "2026-10<"},
		{"pt", "lng-arbitrage", october, `dado de <time datetime="2026-10">outubro de 2026</time>`, "2026-10<"},
		{"hi", "lng-arbitrage", october, `<time datetime="2026-10">अक्टूबर 2026</time> का आँकड़ा`, "2026-10<"},
		{"en", "iowa-corn-yield", final, "value for 2025 crop", "2025 crop"},
		{"en", "crack-spread-321", october, `observed <time datetime="2026-10-01T00:00:00Z">October 1, 2026</time>`, "2026-10-01<"},
		{"es", "hormuz-transit", day, `dato del <time datetime="2026-10-20T00:00:00Z">20 de octubre de 2026</time>`, "2026-10-20<"},
	} {
		l := localizer{Lang: picks.Lang(c.lang)}
		d, _ := signals.ByID(c.id)
		if got := string(l.ObservedIn(d, "home.observed", &c.at)); got != c.home {
			t.Errorf("%s in %s: %q, want %q", c.id, c.lang, got, c.home)
		}
		if got := string(l.ObservedTime(d, c.at)); !strings.Contains(got, c.cell) {
			t.Errorf("%s in %s: a cell has %q, want %q", c.id, c.lang, got, c.cell)
		}
		if card := l.cardOfSignal(d, view.SignalSnapshot{ObservedAt: &october}, nil); d.Frequency == "monthly" && strings.Contains(card.Foot, "1") {
			t.Errorf("%s in %s: the picture has %q", c.id, c.lang, card.Foot)
		}
		if got := l.describe(l.Own(d), tradingDays(1200, nil)); !strings.Contains(got, l.Count(1200)) || strings.Contains(got, "1200") {
			t.Errorf("%s in %s: %q", c.id, c.lang, got)
		}
	}
}

// A source dates a final 1 January of its crop year, and the signal a year later.
func TestAFinalHasTheYearOfItsCrop(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("iowa-corn-yield")
	source, signal := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for lang, want := range map[picks.Lang]string{"en": "2025 crop", "es": "campaña de 2025", "pt": "safra de 2025", "hi": "2025 की फ़सल"} {
		l := localizer{Lang: lang}
		for what, got := range map[string]string{
			"a row":                string(l.ObservedTime(d, signal)),
			"the text":             string(l.ObservedMoment(d, &signal)),
			"a picture":            l.Observed(d, signal),
			"a cell of the source": string(l.CellTime(d, source)),
			"the trend":            string(l.PartTime(d, view.Component{Name: "trend_25_years", ObservedAt: &signal})),
			"the newest final":     string(l.PartTime(d, view.Component{Name: "newest_final", ObservedAt: &source})),
		} {
			if got != want {
				t.Errorf("%s in %s: %q, want %q", what, lang, got, want)
			}
		}
		description := l.describe(l.Own(d), []view.HistoryPoint{{ObservedAt: signal, Value: 180}, {ObservedAt: signal.AddDate(0, 4, 0), Value: 215}})
		if !strings.Contains(description, want) || strings.Contains(description, l.Observed(d, signal.AddDate(1, 0, 0))) {
			t.Errorf("the plot in %s: %q", lang, description)
		}
	}
}

func TestARangeOfOneDayIsOneDay(t *testing.T) {
	t.Parallel()
	day := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		lang, id string
		span     span
		want     string
	}{
		{"en", "hormuz-transit", span{From: day(5, 5), To: day(5, 5)}, "May 5, 2026"},
		{"es", "hormuz-transit", span{From: day(5, 5), To: day(5, 6)}, "del 5 de mayo de 2026 al 6 de mayo de 2026"},
		{"en", "iowa-corn-yield", span{From: day(11, 1), To: day(11, 1)}, "November 2026"},
		{"es", "iowa-corn-yield", span{From: day(5, 1), To: day(11, 20)}, "de mayo de 2026 a noviembre de 2026"},
		{"es", "iowa-corn-yield", span{From: day(5, 1)}, "desde mayo de 2026"},
		{"pt", "iowa-corn-yield", span{To: day(5, 1)}, "até maio de 2026"},
		{"en", "iowa-corn-yield", span{From: day(5, 2), To: day(11, 1)}, "May 2, 2026 to November 1, 2026"}, // without the value of May
	} {
		l := localizer{Lang: picks.Lang(c.lang)}
		d, _ := signals.ByID(c.id)
		if got := l.RangeTitle(l.Own(d), c.span); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.id, c.lang, got, c.want)
		}
	}
	one := []view.HistoryPoint{{ObservedAt: day(11, 1), Value: 180}}
	for _, c := range []struct{ lang, id, want string }{
		{"en", "hormuz-transit", " One point: 180 on November 1, 2026."},
		{"es", "hormuz-transit", " Un punto: 180 el 1 de noviembre de 2026."},
		{"pt", "hormuz-transit", " Um ponto: 180 em 1º de novembro de 2026."},
		{"hi", "hormuz-transit", " एक बिंदु: 180 (1 नवंबर 2026)।"},
		{"en", "iowa-corn-yield", " One point: 180.0 (November 2026)."},
	} {
		l := localizer{Lang: picks.Lang(c.lang)}
		d, _ := signals.ByID(c.id)
		if got := l.describe(l.Own(d), one); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s in %s: %q, want %q", c.id, c.lang, got, c.want)
		}
	}
}

func TestMarkdownCannotBringScripts(t *testing.T) {
	t.Parallel()
	got := string(markdown("# A\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) <img src=x onerror=alert(1)>"))
	for _, bad := range []string{"<script", "javascript:", "<img"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q came through: %s", bad, got)
		}
	}
}

func TestProbability(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p    *float64
		want string
	}{{nil, "unknown"}, {new(0.00002057), "< 0.0001"}, {new(0.0), "< 0.0001"}, {new(0.0123), "0.012"}, {new(0.25), "0.25"}, {new(1.0), "1"}} {
		if got := probability(tt.p); got != tt.want {
			t.Errorf("probability = %q, want %q", got, tt.want)
		}
	}
}

func TestTheCoordinatesOfARegionAreRangesThatNoLineCuts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Yangtze delta, 30-33 N 118-122 E":      "Yangtze delta, 30–\u206033\u00a0N 118–\u2060122\u00a0E",
		"Houston, 29-30,5 N 96-94,5 O":          "Houston, 29–\u206030,5\u00a0N 96–\u206094,5\u00a0O",
		"Crack spread 3:2:1, all 7 N-S days":    "Crack spread 3:2:1, all 7 N-S days",
		"Motor gasoline, 40 Economies, 12-hour": "Motor gasoline, 40 Economies, 12-hour",
	} {
		if got := coordinates(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
}

func TestALineCutsNoTermAndALongNameOnlyBeforeItsCapitals(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"<p>under RevenueFromContractWithCustomer: the</p>":                                                       "<p>under Revenue<wbr>From<wbr>Contract<wbr>With<wbr>Customer: the</p>",
		`<a href="https://x.example/RevenueFromContractWithCustomer/a-b">IPhone, McDonald's and LongTermDebt</a>`: `<a href="https://x.example/RevenueFromContractWithCustomer/a-b">IPhone, McDonald's and Long<wbr>Term<wbr>Debt</a>`,
		"OperatingIncomeLoss, PayPal":                                                                             "Operating<wbr>Income<wbr>Loss, PayPal", "Spearman Mr. GitHub dei:": "Spearman Mr. GitHub dei:",
		"a t-statistic of 2, in form 10-K (8-K), a 12-month F-score, ex-dividend, well-known": "a t-\u2060statistic of 2, in form 10-\u2060K (8-\u2060K), a 12-\u2060month F-\u2060score, ex-\u2060dividend, well-known",
		"सीपीआई, माह-दर-माह":                                                                  "सीपीआई, माह-\u2060दर-\u2060माह", "2026-11-16, walk-forward": "2026-11-16, walk-forward",
	} {
		if got := written(template.HTML(page)); string(got) != want { //nolint:gosec // a page of the test
			t.Errorf("%q became %q, want %q", page, got, want)
		}
	}
}

func TestAMinusIsOneAndHyphensStay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"it returned -7.1% on average": "it returned −7.1% on average", "| growth | -2.1% |": "| growth | −2.1% |", "(-$3.5 million)": "(−$3.5 million)",
		"on 2026-11-16, form 10-Q, 8-K, 12-month": "on 2026-11-16, form 10-Q, 8-K, 12-month", "- a point": "- a point", "-5": "−5",
		"a perda foi de -US$\u00a061,2 milhões": "a perda foi de −US$\u00a061,2 milhões",
	} {
		if got := minus(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestNoPercentageIsShownWhereNoneCanBeFormed(t *testing.T) {
	t.Parallel()
	one, half := 1.0, -12.34
	for _, tt := range []struct {
		value, baseline, pct *float64
		want                 string
	}{{&one, &one, nil, "not applicable"}, {&one, nil, nil, "unknown"}, {nil, &one, nil, "unknown"}, {&one, &one, &half, "−12.3%"}, {&one, &one, new(0.01), "0.0%"}, {&one, &one, &one, "+1.0%"}} {
		if got := relative(tt.value, tt.baseline, tt.pct); got != tt.want {
			t.Errorf("%v against %v is %q, want %q", tt.value, tt.baseline, got, tt.want)
		}
	}
}

func TestAComponentHasItsUnitInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit         string
		v            float64
		want, behind string
	}{
		{"USD/gal", 3.2199, "$3.220", "a gallon"},
		{"USD/bbl", 124.061, "$124.06", "a barrel"},
		{"USD/MMBtu", -0.36, "−$0.360", "per MMBtu"},
		{"percent", 97.321, "97.3%", ""},
		{"transits/day", 81.4, "81", "ships a day"},
		{"bu/acre per year", 1.372, "1.372", "bushels an acre each year"},
	} {
		if got := quantity(c.unit, &c.v); got != c.want || unitWords(c.unit) != c.behind {
			t.Errorf("%v %s: %s %s, want %s %s", c.v, c.unit, got, unitWords(c.unit), c.want, c.behind)
		}
	}
}

func TestDaysOptionsAndAddressesBreakWhereAReaderWould(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]any{
		{wholeDays("No pick for 2001-01-01: see <a>."), `No pick for <span class="whole">2001-01-01</span>: see &lt;a&gt;.`},
		{code("tidemark scorecard --url <x>"), `<code>tidemark scorecard <span class="option">--url</span> &lt;x&gt;</code>`},
		{bare("https://www.eia.gov/a-b/c/"), `www.<wbr>eia.<wbr>gov/<wbr>a-b/<wbr>c`},
	} {
		if got := string(c[0].(template.HTML)); got != c[1] {
			t.Errorf("%s, want %s", got, c[1])
		}
	}
}

func TestCellsOfTheMethodKeepTheirColumnAndTheirGroup(t *testing.T) {
	t.Parallel()
	const table = "<table>\n<thead>\n<tr>\n<th>Group <em>w</em></th>\n<th>Metric</th>\n</tr>\n</thead>\n<tbody>\n" +
		"<tr>\n<td>Value</td>\n<td align=\"right\">1</td>\n</tr>\n<tr>\n<td></td>\n<td></td>\n</tr>\n</tbody>\n</table>"
	const want = "<table>\n<thead>\n<tr>\n<th>Group <em>w</em></th>\n<th>Metric</th>\n</tr>\n</thead>\n<tbody>\n" +
		"<tr>\n<td>Value</td>\n<td data-head=\"Metric\" align=\"right\">1</td>\n</tr>\n<tr>\n<td data-group=\"Value\"></td>\n<td data-head=\"Metric\"></td>\n</tr>\n</tbody>\n</table>"
	if got := labelCells(table); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTheDigestNamesTheCloseOnceIfAllReturnsAreOfIt(t *testing.T) {
	t.Parallel()
	monday, tuesday := time.Date(2026, 11, 23, 21, 0, 0, 0, time.UTC), time.Date(2026, 11, 24, 21, 0, 0, 0, time.UTC)
	known := func(at *time.Time) view.Pick { return view.Pick{ReturnFromEntryPct: new(1.5), LastPriceAt: at} }
	for name, c := range map[string]struct {
		picks []view.Pick
		want  *time.Time
	}{
		"one close":                {[]view.Pick{known(&monday), known(new(monday)), {}}, &monday},
		"two closes":               {[]view.Pick{known(&monday), known(&tuesday)}, nil},
		"a return without a close": {[]view.Pick{known(&monday), known(nil)}, nil},
		"no known return":          {[]view.Pick{{LastPriceAt: &monday}}, nil},
		"a close without a return": {[]view.Pick{known(&monday), {LastPriceAt: &tuesday}}, &monday},
	} {
		got := digestBody{Digest: &view.Digest{Picks: c.picks}}.Close()
		if (got == nil) != (c.want == nil) || got != nil && !got.Equal(*c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestATextInsideASentenceBeginsSmall(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"Mediana da previsão": "mediana da previsão", "80 % central": "80 % central", "पूर्वानुमान": "पूर्वानुमान"} {
		if got := within(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
