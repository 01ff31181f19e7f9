package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/internal/series"
)

// The first line of a manifest names its format and the version of it. A reader refuses any other.
const (
	Format  = "tidemark-archive"
	Version = 1
)

// maxLine bounds one line of a manifest.
const maxLine = 1 << 20

// header is the first line.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// entry is every other line: a series.Fetch without the id that a ledger gave it.
type entry struct {
	Source      string            `json:"source"`
	URL         string            `json:"url"`
	Status      int               `json:"status"`
	Header      map[string]string `json:"header,omitempty"`
	FetchedAt   time.Time         `json:"fetched_at"`
	SHA256      string            `json:"sha256"`
	Bytes       int64             `json:"bytes"`
	NotModified bool              `json:"not_modified,omitempty"`
	Synthetic   bool              `json:"synthetic,omitempty"`
	Constructed bool              `json:"constructed,omitempty"`
}

// ReadManifest yields the fetches of a manifest in the order of its lines, times in UTC to the microsecond. It reads as it goes.
// The first line that is not as the format wants it ends the sequence with an error that has its number.
func ReadManifest(r io.Reader) iter.Seq2[series.Fetch, error] {
	return func(yield func(series.Fetch, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			line, err := readLine(lines)
			if errors.Is(err, io.EOF) && n > 1 {
				return
			}
			var f series.Fetch
			switch {
			case errors.Is(err, io.EOF):
				err = errors.New("it is empty, expected a header")
			case err == nil && n == 1:
				err = checkHeader(line)
			case err == nil:
				f, err = readEntry(line)
			}
			if err != nil {
				yield(series.Fetch{}, fmt.Errorf("read the manifest: line %d: %w", n, err))
				return
			}
			if n > 1 && !yield(f, nil) {
				return
			}
		}
	}
}

// readLine returns the next line without its end, and io.EOF if there are no more lines.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0, err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
		return nil, err
	}
}

func checkHeader(line []byte) error {
	var h header
	if err := decode(line, &h); err != nil {
		return fmt.Errorf("%w, expected a header", err)
	}
	if h.Format != Format {
		return fmt.Errorf("format %q, expected %q", h.Format, Format)
	}
	if h.Version != Version {
		return fmt.Errorf("version %d, this program reads version %d", h.Version, Version)
	}
	return nil
}

func readEntry(line []byte) (series.Fetch, error) {
	var e entry
	if err := decode(line, &e); err != nil {
		return series.Fetch{}, err
	}
	f := series.Fetch{
		Source: e.Source, URL: e.URL, Status: e.Status, Header: e.Header,
		FetchedAt: e.FetchedAt.UTC().Truncate(time.Microsecond), SHA256: e.SHA256, Bytes: e.Bytes,
		NotModified: e.NotModified, Synthetic: e.Synthetic, Constructed: e.Constructed,
	}
	return f, checkFetch(f)
}

// decode reads one JSON object with known members and nothing after it.
func decode(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("not a JSON object of this format: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value on the line")
	}
	return nil
}

// dropped is the scheme of files that the operator laid into a folder, which are archived like answers.
const dropped = "csvdrop"

// checkFetch returns an error if a fetch is not valid in a manifest.
func checkFetch(f series.Fetch) error {
	u, err := url.Parse(f.URL)
	switch {
	case f.Source == "":
		return errors.New("no source")
	case err != nil:
		return fmt.Errorf("url %q does not parse", f.URL)
	case u.Scheme == dropped && u.Opaque != "":
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("url %q, expected http:// or https:// and a host, or %s: and a name", f.URL, dropped)
	}
	switch {
	case u.User != nil:
		return errors.New("the url holds credentials")
	case f.Status < 100 || f.Status > 599:
		return fmt.Errorf("status %d, expected 100 to 599", f.Status)
	case f.FetchedAt.IsZero() || f.FetchedAt.Year() < 1 || f.FetchedAt.Year() > 9999:
		return errors.New("no fetched_at")
	case !digestForm.MatchString(f.SHA256):
		return fmt.Errorf("sha256 %q, expected 64 lower-case hex digits", f.SHA256)
	case f.Bytes < 0:
		return fmt.Errorf("bytes %d, expected 0 or more", f.Bytes)
	case f.NotModified != (f.Status == http.StatusNotModified):
		return fmt.Errorf("status %d with not_modified %t: not_modified belongs to 304", f.Status, f.NotModified)
	}
	if !utf8.ValidString(f.Source + f.URL) {
		return errors.New("a source or url that is not UTF-8")
	}
	for name, v := range f.Header {
		if name == "" || !utf8.ValidString(name+v) || strings.ContainsAny(name+v, "\x00\r\n") {
			return fmt.Errorf("%q is not a header of HTTP", name)
		}
	}
	return nil
}

// appendLine adds one JSON line.
func appendLine(b []byte, v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line) // ends with a line feed
	enc.SetEscapeHTML(false)      // URLs stay readable
	if err := enc.Encode(v); err != nil {
		return b, err
	}
	return append(b, line.Bytes()...), nil
}

// formatFetch writes the line of a fetch.
func formatFetch(f series.Fetch) ([]byte, error) {
	f.FetchedAt = f.FetchedAt.UTC().Truncate(time.Microsecond)
	if err := checkFetch(f); err != nil {
		return nil, err
	}
	return appendLine(nil, entry{
		Source: f.Source, URL: f.URL, Status: f.Status, Header: f.Header, FetchedAt: f.FetchedAt, SHA256: f.SHA256, Bytes: f.Bytes,
		NotModified: f.NotModified, Synthetic: f.Synthetic, Constructed: f.Constructed,
	})
}
