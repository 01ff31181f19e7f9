package edgar

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/equity"
)

// Sandbox answers for both of the SEC's hosts with the invented companies of the world, as of its clock. The lists of tickers change when
// a company is listed, renamed or delisted. Filings and their figures are shown from the moment they are accepted. Like the SEC, it
// refuses clients that do not identify themselves. The newest filings of a company are a hundred here and not a thousand, so that there
// are older pages. Responses change only with filings. The handlers are safe for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	s := &sandbox{now: w.Now, byCIK: map[equity.CIK]*filings{}}
	for _, c := range w.Market().Companies {
		f := newFilings(w, c)
		s.all = append(s.all, f)
		s.byCIK[equity.CIK(c.CIK)] = f
	}
	for pattern, answer := range map[string]func(*http.Request) ([]byte, string){
		filesHost + tickersPath:               s.tickers,
		filesHost + exchangesPath:             s.exchanges,
		filesHost + currentPath:               s.current,
		filesHost + archivesPath:              s.document,
		dataHost + submissionsPath + "{file}": s.submissions,
		dataHost + factsPath + "{file}":       s.facts,
	} {
		mux.HandleFunc(pattern, named(answer))
	}
}

// recentRows is how many filings the first answer about a company has.
const recentRows = 100

const (
	typeJSON = "application/json"
	typeAtom = "application/atom+xml"
	typeHTML = "text/html"
)

type sandbox struct {
	now   func() time.Time
	all   []*filings
	byCIK map[equity.CIK]*filings

	mu sync.Mutex
	// written holds the newest responses about a company by path, with the last filing at that time.
	written map[string]written
}

type written struct {
	after string
	body  []byte
}

// named answers clients that identify themselves. An empty body is the response for a missing page.
func named(answer func(*http.Request) ([]byte, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, contentType := answer(r)
		status := http.StatusOK
		switch {
		case !strings.Contains(r.UserAgent(), "@"):
			status, contentType = http.StatusForbidden, "text/html"
			body = []byte("<!DOCTYPE html><html><head><title>SEC.gov | Your Request Originates from an Undeclared Automated Tool</title></head></html>\n")
		case body == nil:
			status, contentType = http.StatusNotFound, "application/xml"
			body = []byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>")
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write(body) // an error means that the client has gone
	}
}

// today is the date in New York.
func (s *sandbox) today() time.Time {
	year, month, day := s.now().In(ingest.NewYork()).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// tickers writes the list of companies with tickers. Its members are in the order of their numbers, which is the order of the list.
func (s *sandbox) tickers(*http.Request) ([]byte, string) {
	var b strings.Builder
	rows := 0
	for _, f := range s.all {
		ticker := f.company.Ticker(s.today())
		if ticker == "" {
			continue
		}
		if rows > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%d":{"cik_str":%d,"ticker":%q,"title":%s}`, rows, f.company.CIK, ticker, marshal(f.company.Name))
		rows++
	}
	return []byte("{" + b.String() + "}"), typeJSON
}

func (s *sandbox) exchanges(*http.Request) ([]byte, string) {
	rows := [][]any{}
	for _, f := range s.all {
		if ticker := f.company.Ticker(s.today()); ticker != "" {
			rows = append(rows, []any{f.company.CIK, f.company.Name, ticker, f.company.Exchange})
		}
	}
	return marshal(struct {
		Fields []string `json:"fields"`
		Data   [][]any  `json:"data"`
	}{[]string{"cik", "name", "ticker", "exchange"}, rows}), typeJSON
}

// submissions writes both kinds of answers about a company's filings.
func (s *sandbox) submissions(r *http.Request) ([]byte, string) {
	id, m, err := companyIn(r.URL.Path, submissionsFile)
	f := s.byCIK[id]
	if err != nil || f == nil {
		return nil, ""
	}
	events := f.until(s.now())
	recent := events[max(len(events)-recentRows, 0):]
	older := events[:len(events)-len(recent)]
	switch {
	case m[2] == "":
		ticker := f.company.Ticker(s.today())
		return s.once(r.URL.Path, lastOf(events)+ticker, func() []byte { return writeCompany(f.company, ticker, recent, older) }), typeJSON
	case m[2] == "001" && len(older) > 0:
		return marshal(tableOf(f.company, older)), typeJSON
	}
	return nil, ""
}

// facts writes the figures of a company's reports.
func (s *sandbox) facts(r *http.Request) ([]byte, string) {
	id, _, err := companyIn(r.URL.Path, factsFile)
	f := s.byCIK[id]
	if err != nil || f == nil || f.company.Books == synth.Unreported {
		return nil, ""
	}
	events := f.until(s.now())
	if !slices.ContainsFunc(events, func(e event) bool { return len(e.figures) > 0 }) {
		return nil, ""
	}
	return s.once(r.URL.Path, lastOf(events), func() []byte { return writeFacts(f.company, events) }), typeJSON
}

// lastOf is the accession number of the last of some filings.
func lastOf(events []event) string {
	if len(events) == 0 {
		return ""
	}
	return events[len(events)-1].accession
}

// once writes an answer unless the last one to the same question was of the same state.
func (s *sandbox) once(path, after string, write func() []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.written[path]; ok && known.after == after {
		return known.body
	}
	if s.written == nil {
		s.written = map[string]written{}
	}
	body := write()
	s.written[path] = written{after, body}
	return body
}

// current writes a page of the newest filings of a form, of the last two days.
func (s *sandbox) current(r *http.Request) ([]byte, string) {
	q := r.URL.Query()
	now := s.now()
	type one struct {
		f *filings
		event
	}
	var list []one
	for _, f := range s.all {
		for _, e := range slices.Backward(f.until(now)) {
			if e.accepted.Before(now.Add(-48 * time.Hour)) {
				break
			}
			if strings.HasPrefix(e.form, q.Get("type")) {
				list = append(list, one{f, e})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b one) int { return b.accepted.Compare(a.accepted) })
	start, err := strconv.Atoi(q.Get("start"))
	if err != nil || start < 0 || q.Get("action") != "getcurrent" || q.Get("output") != "atom" {
		return nil, ""
	}
	list = list[min(start, len(list)):]
	list = list[:min(currentRows, len(list))]
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>Latest Filings - %s</title>\n",
		now.In(ingest.NewYork()).Format("Mon, 02 Jan 2006 15:04:05 MST"))
	fmt.Fprintf(&b, "<id>https://www.sec.gov/cgi-bin/browse-edgar?action=getcurrent</id>\n<updated>%s</updated>\n", now.In(ingest.NewYork()).Format(time.RFC3339))
	for _, e := range list {
		writeEntry(&b, e.f.company, e.event)
	}
	b.WriteString("</feed>\n")
	return []byte(b.String()), typeAtom
}

// writeEntry writes a filing as the list of the newest ones shows it. No name of the sandbox needs escaping but for its ampersands.
func writeEntry(b *strings.Builder, c *synth.Company, e event) {
	index := documentURL(equity.CIK(c.CIK), e.accession, "")
	fmt.Fprintf(b, "<entry>\n<title>%s - %s (%s) (Filer)</title>\n<link rel=\"alternate\" type=\"text/html\" href=\"%s\"/>\n", e.form,
		strings.ReplaceAll(c.Name, "&", "&amp;"), equity.CIK(c.CIK), index)
	fmt.Fprintf(b, "<summary type=\"html\">\n &lt;b&gt;Filed:&lt;/b&gt; %s &lt;b&gt;AccNo:&lt;/b&gt; %s &lt;b&gt;Size:&lt;/b&gt; 364 KB\n",
		e.filed.Format(time.DateOnly), e.accession)
	for _, item := range e.items {
		fmt.Fprintf(b, "&lt;br&gt;Item %s: As the form says\n", item)
	}
	fmt.Fprintf(b, "</summary>\n<updated>%s</updated>\n<category scheme=\"https://www.sec.gov/\" label=\"form type\" term=%q/>\n", e.accepted.In(ingest.NewYork()).Format(time.RFC3339), e.form)
	fmt.Fprintf(b, "<id>urn:tag:sec.gov,2008:accession-number=%s</id>\n</entry>\n", e.accession)
}

func marshal(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil { // the sandbox draws only finite numbers
		return []byte("null")
	}
	return body
}
