package worldbank_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/worldbank"
	"tidemark/internal/series"
)

// head is the head of the sheet of prices, and two months.
const head = `World Bank Commodity Price Data (The Pink Sheet)
"monthly prices in nominal US dollars, 1960 to present"
(monthly series are available only in nominal US dollars)
"Updated on March 03, 2026"
,"Crude oil, average","Natural gas, US","Natural gas, Europe","Liquefied natural gas, Japan"
,($/bbl),($/mmbtu),($/mmbtu),($/mmbtu)
`

const months = "2026M01,61.1,7.5832,11.75574513439,11.4878517547\n2026M02,64.2,3.6147,11.23735293669,11.4696\n"

func book(body []byte) ingest.Response {
	return ingest.Response{
		Request: ingest.Request{URL: bookURL},
		Header:  http.Header{"Content-Type": {workbookType}},
		Body:    body, FetchedAt: time.Date(2026, 3, 4, 17, 20, 0, 0, time.UTC),
	}
}

// repack copies a workbook part by part, as change gives each.
func repack(t testing.TB, body []byte, change func(name string, content []byte) []byte) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, part := range in.File {
		r, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		to, err := w.Create(part.Name)
		if err == nil {
			_, err = to.Write(change(part.Name, content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWorkbookThatIsNoneOrBroken(t *testing.T) {
	t.Parallel()
	good := pack(t, "Monthly Prices", []byte(head+months))
	if _, err := worldbank.Source().Parse(book(good)); err != nil {
		t.Fatalf("the workbook that the cases break: %v", err)
	}
	const sheet = "xl/worksheets/sheet2.xml"
	for _, tc := range []struct {
		fact string
		body []byte
		want string
	}{
		{"nothing", nil, "not a workbook"},
		{"a page in place of the workbook", []byte("<!DOCTYPE html><html><title>Maintenance</title></html>"), `begins with "<!DOCTYPE html>`},
		{"an old workbook", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and so on"), "not a workbook"},
		{"half of it", good[:len(good)/2], "not a whole workbook"},
		{"all but the last byte", good[:len(good)-1], "not a whole workbook"},
		{"another sheet", pack(t, "Quarterly Prices", []byte(head+months)), `no sheet "Monthly Prices" among ["Sheet1" "Quarterly Prices"]`},
		{"a flipped bit in the sheet", flip(t, good, sheet), "damaged"},
		{"a part longer than it states", shorten(t, good, sheet), "damaged"},
		{"a bomb that states its size", bomb(t, good), "unpacks to more than"},
		{"a part twice", twice(t, good, sheet), "two parts"},
		{"more parts than a workbook has", many(t), "parts, want at most"},
		{"a sheet that breaks off in a row", repack(t, good, func(name string, content []byte) []byte {
			if name == sheet {
				return content[:bytes.Index(content, []byte(`<row r="7"`))]
			}
			return content
		}), "no row with a month"},
		{"a row far down", repack(t, good, func(name string, content []byte) []byte {
			if name == sheet {
				return bytes.Replace(content, []byte(`<row r="8"`), []byte(`<row r="1048576"`), 1)
			}
			return content
		}), "more than 4000 rows"},
	} {
		batch, err := worldbank.Source().Parse(book(tc.body))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error is %v, want one with %q", tc.fact, err, tc.want)
		}
		if len(batch.Readings) != 0 || len(batch.Covers) != 0 {
			t.Errorf("%s: %d readings beside the error", tc.fact, len(batch.Readings))
		}
	}
}

// flip changes one bit in the middle of a part's packed bytes.
func flip(t testing.TB, body []byte, name string) []byte {
	t.Helper()
	body = bytes.Clone(body)
	in, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range in.File {
		if part.Name == name {
			at, err := part.DataOffset()
			if err != nil {
				t.Fatal(err)
			}
			body[at+int64(part.CompressedSize64)/2] ^= 0x10
			return body
		}
	}
	t.Fatalf("no part %s", name)
	return nil
}

// shorten makes the directory state half of a part's size.
func shorten(t testing.TB, body []byte, name string) []byte {
	t.Helper()
	body = bytes.Clone(body)
	entry := bytes.LastIndex(body, []byte(name)) - 46 // the fixed part of a directory entry
	if entry < 0 || !bytes.HasPrefix(body[entry:], []byte("PK\x01\x02")) {
		t.Fatalf("no directory entry of %s", name)
	}
	size := binary.LittleEndian.Uint32(body[entry+24:])
	binary.LittleEndian.PutUint32(body[entry+24:], size/2)
	return body
}

// bomb adds a part that states more bytes than a workbook may have.
func bomb(t testing.TB, body []byte) []byte {
	t.Helper()
	return addParts(t, body, zip.FileHeader{Name: "xl/worksheets/sheet3.xml", UncompressedSize64: 65 << 20})
}

// twice adds a part under a name that another has, but for the case of letters.
func twice(t testing.TB, body []byte, name string) []byte {
	t.Helper()
	return addParts(t, body, zip.FileHeader{Name: strings.ToUpper(name)})
}

func many(t testing.TB) []byte {
	t.Helper()
	var parts []zip.FileHeader
	for i := range 501 {
		parts = append(parts, zip.FileHeader{Name: fmt.Sprintf("part%d.xml", i)})
	}
	return addParts(t, nil, parts...)
}

// addParts copies a workbook, nil for none, and adds parts without content.
func addParts(t testing.TB, body []byte, parts ...zip.FileHeader) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if body != nil {
		in, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range in.File {
			if err := w.Copy(part); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, part := range parts {
		if _, err := w.CreateRaw(&part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The two ways in which programs save a number differ in the 16th digit; the value is one.
func TestTheSameValueSavedByTwoProgramsIsEqual(t *testing.T) {
	t.Parallel()
	parse := func(values string) []series.Reading {
		body := pack(t, "Monthly Prices", []byte(head+"2026M01,61.1,0.5,0.5,0.5\n2026M02,64.2,0.5,0.5,0.5\n"))
		cells := strings.Split(values, ",")
		body = repack(t, body, func(name string, content []byte) []byte {
			if name != "xl/worksheets/sheet2.xml" {
				return content
			}
			for _, text := range cells {
				content = bytes.Replace(content, []byte("<v>0.5</v>"), []byte("<v>"+text+"</v>"), 1)
			}
			return content
		})
		batch, err := worldbank.Source().Parse(book(body))
		if err != nil {
			t.Fatal(err)
		}
		return batch.Readings
	}
	want := parse("0.14,0.39135113795,11.15452343511,12,3.6147,0.00000000001")
	for _, other := range []string{
		"0.14000000000000001,0.39135113794999998,11.154523435110001,12,3.6147,1E-11",
		"0.1400000000000000,3.9135113795E-1,1.115452343511e1,12.0,3.61470000000000,1.0E-11",
	} {
		if diff := cmp.Diff(want, parse(other)); diff != "" {
			t.Errorf("(-saved by one program +by another):\n%s", diff)
		}
	}
}

// The age of a workbook is compared with the Date of the answer that handed it out, so that a replay whose clock stands later
// reads what it recorded.
func TestStaleLinkIsTold(t *testing.T) {
	t.Parallel()
	body := pack(t, "Monthly Prices", []byte(head+months))
	day := func(s string) time.Time {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, tc := range []struct {
		fact          string
		date, fetched string
		stale         bool
	}{
		{"fetched the day after", "", "2026-03-04", false},
		{"45 days old", "", "2026-04-17", false},
		{"46 days old", "", "2026-04-18", true},
		{"46 days old by the answer's own date", "2026-04-18", "2026-04-18", true},
		{"recorded the day after, replayed two years later", "2026-03-04", "2028-03-04", false},
		{"recorded when it was stale, replayed at any time", "2026-09-01", "2026-03-04", true},
		{"at an unknown time", "", "", false},
	} {
		r := book(body)
		r.FetchedAt = time.Time{}
		if tc.fetched != "" {
			r.FetchedAt = day(tc.fetched)
		}
		if tc.date != "" {
			r.Header.Set("Date", day(tc.date).Format(http.TimeFormat))
		}
		_, err := worldbank.Source().Parse(r)
		if got := err != nil; got != tc.stale {
			t.Errorf("%s: error is %v, want stale: %t", tc.fact, err, tc.stale)
		}
		if err != nil && !strings.Contains(err.Error(), "the link to it is stale") {
			t.Errorf("%s: the error does not say so: %v", tc.fact, err)
		}
	}
}
