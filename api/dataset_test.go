package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/api"
	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

func TestADataSetIsServedWithRangesAndDescriptions(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	s.serve(api.Options{View: s.view, Datasets: s.open(postgres.RoleAPI)})
	if a := s.ask(http.MethodGet, "/data/manifest.json"); a.StatusCode != http.StatusNotFound {
		t.Errorf("before the first set: %s", a.Status)
	}
	sum := func(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }
	table := func(name string, b []byte) postgres.DatasetTable {
		return postgres.DatasetTable{
			Name: name, Title: name + " as a table", License: "https://licence.example/", SHA256: sum(b), Bytes: int64(len(b)), Rows: 1,
			Columns: []postgres.DatasetColumn{{Name: "at", Type: "datetime"}, {Name: "value", Type: "number", Nullable: true}, {Name: "basis", Type: "string", Nullable: true}},
		}
	}
	save := func(day string, files map[string][]byte) bool {
		t.Helper()
		set := postgres.Dataset{Day: day, AsOf: noon}
		all := map[string][]byte{}
		for _, name := range []string{"a", "b"} {
			set.Tables = append(set.Tables, table(name, files[name]))
			all[sum(files[name])] = files[name]
		}
		added, err := s.worker.SaveDataset(t.Context(), task.Fence{}, set, all)
		if err != nil {
			t.Fatal(err)
		}
		return added
	}
	first := map[string][]byte{"a": []byte("PAR1 the same every day PAR1"), "b": []byte("PAR1 one PAR1")}
	if !save("2026-02-27", first) || save("2026-02-27", map[string][]byte{"a": []byte("x"), "b": []byte("y")}) {
		t.Error("a day's set is published once")
	}
	for day := 1; day <= 9; day++ {
		save(fmt.Sprintf("2026-03-%02d", day), map[string][]byte{"a": first["a"], "b": fmt.Appendf(nil, "PAR1 %d PAR1", day)})
	}
	m := s.get("/data/manifest.json")
	if got, want := fmt.Sprint(m["days"]), "[2026-03-09 2026-03-08 2026-03-07 2026-03-06 2026-03-05 2026-03-04 2026-03-03 2026-03-01 2026-02-27]"; got != want {
		t.Errorf("kept are %s, want %s", got, want)
	}
	for _, f := range m["files"].([]any) {
		f := f.(map[string]any)
		for _, address := range []string{"/data/" + f["path"].(string), "/data/2026-03-09/" + f["path"].(string)} {
			a := s.ask(http.MethodGet, address)
			if a.StatusCode != http.StatusOK || sum(a.body) != f["sha256"] || a.Header.Get("Content-Type") != "application/vnd.apache.parquet" {
				t.Errorf("%s: %s, %s", address, a.Status, a.Header.Get("Content-Type"))
			}
			if part := s.ask(http.MethodGet, address, "Range", "bytes=-4"); part.StatusCode != http.StatusPartialContent || string(part.body) != "PAR1" {
				t.Errorf("%s: its last four bytes are %s %q", address, part.Status, part.body)
			}
			if known := s.ask(http.MethodGet, address, "If-None-Match", a.Header.Get("ETag")); known.StatusCode != http.StatusNotModified {
				t.Errorf("%s: a client that has it gets %s", address, known.Status)
			}
			if immutable := strings.Contains(a.Header.Get("Cache-Control"), "immutable"); immutable != strings.Contains(address, "2026") {
				t.Errorf("%s: %s", address, a.Header.Get("Cache-Control"))
			}
		}
	}
	if a := s.ask(http.MethodGet, "/data/2026-02-27/b.parquet"); !bytes.Equal(a.body, first["b"]) {
		t.Errorf("the first of February's sets is kept with its files: %s", a.Status)
	}
	for _, gone := range []string{"/data/2026-03-02/manifest.json", "/data/2026-03-02/b.parquet", "/data/c.parquet", "/data/2026-13-01/a.parquet", "/data/x/a.parquet"} {
		if a := s.ask(http.MethodGet, gone); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", gone, a.Status)
		}
	}
	if got := s.query(`select count(*) from dataset_files`); got[0] != "10" { // one a, and nine b
		t.Errorf("%v files are kept", got)
	}
	// The description of a set is served byte by byte: a leaf of the log has its hash.
	a := s.ask(http.MethodGet, "/data/2026-03-09/contents.json", "Accept-Encoding", "identity")
	if address, _ := m["contents_url"].(string); !strings.HasSuffix(address, "/data/2026-03-09/contents.json") || m["log_index"] != nil || m["proof_url"] != nil {
		t.Errorf("without a log the manifest says %v, %v, %v", m["contents_url"], m["log_index"], m["proof_url"])
	}
	if want := s.query(`select contents from datasets where day = '2026-03-09'`)[0]; a.StatusCode != http.StatusOK || strings.TrimSpace(string(a.body)) != strings.TrimSpace(want) {
		t.Errorf("contents.json is %s: %s, want %s", a.Status, a.body, want)
	}
	if cache := s.ask(http.MethodGet, "/data/2026-03-09/manifest.json").Header.Get("Cache-Control"); strings.Contains(cache, "immutable") {
		t.Errorf("a manifest that gets the number of its leaf later is %s", cache)
	}
	s.query(`insert into datasets (day, as_of, tables) values ('2026-03-10', now(), '[]') returning day`) // a set from before there were leaves
	if old := s.get("/data/manifest.json"); old["contents_url"] != nil {
		t.Errorf("a set from before leads to %v", old["contents_url"])
	}
	if a := s.ask(http.MethodGet, "/data/2026-03-10/contents.json"); a.StatusCode != http.StatusNotFound {
		t.Errorf("the contents of a set from before: %s", a.Status)
	}
	s.query(`delete from datasets where day = '2026-03-10' returning day`)
	pack := s.get("/data/datapackage.json")
	resource := pack["resources"].([]any)[1].(map[string]any)
	if pack["version"] != "2026-03-09" || resource["hash"] != "sha256:"+sum([]byte("PAR1 9 PAR1")) || resource["bytes"] != 11.0 {
		t.Errorf("the data package is %v", pack)
	}
	croissant := s.get("/data/croissant.json")
	file := croissant["distribution"].([]any)[1].(map[string]any)
	record := croissant["recordSet"].([]any)[1].(map[string]any)
	if croissant["conformsTo"] != "http://mlcommons.org/croissant/1.0" || file["sha256"] != sum([]byte("PAR1 9 PAR1")) || len(record["field"].([]any)) != 3 {
		t.Errorf("croissant is %v", croissant)
	}
	field := resource["schema"].(map[string]any)["fields"].([]any)[2].(map[string]any)
	if got := fmt.Sprint(field["constraints"]); got != "map[enum:[measured assumed]]" || !strings.Contains(fmt.Sprint(field["description"]), "no probability is claimed") {
		t.Errorf("the data package says of basis: %v", field)
	}
	if about := record["field"].([]any)[2].(map[string]any)["description"]; about != field["description"] {
		t.Errorf("croissant says of basis: %v", about)
	}
}

// countedSets counts the bytes of files that are read from the database.
type countedSets struct {
	api.Datasets

	bytes atomic.Int64
}

func (c *countedSets) DatasetBytes(ctx context.Context, sha256 string, from, n int64) ([]byte, error) {
	b, err := c.Datasets.DatasetBytes(ctx, sha256, from, n)
	c.bytes.Add(int64(len(b)))
	return b, err
}

func TestARangeOfALongFileReadsLittleMoreThanItself(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	counted := &countedSets{Datasets: s.open(postgres.RoleAPI)}
	s.serve(api.Options{View: s.view, Datasets: counted})
	body := make([]byte, 3<<20)
	_, _ = rand.Read(body)
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	set := postgres.Dataset{Day: "2026-03-02", AsOf: noon, Tables: []postgres.DatasetTable{{Name: "a", Title: "a", SHA256: sum, Bytes: int64(len(body)), Rows: 1}}}
	if _, err := s.worker.SaveDataset(t.Context(), task.Fence{}, set, map[string][]byte{sum: body}); err != nil {
		t.Fatal(err)
	}
	size := len(body)
	for asked, c := range map[string]struct {
		want []byte
		most int64
	}{
		"":                           {body, int64(size)},
		"bytes=-8":                   {body[size-8:], 8},
		"bytes=1000000-1000000":      {body[1_000_000:1_000_001], 1},
		"bytes=2000000-2100000":      {body[2_000_000:2_100_001], 300_000},
		"bytes=-1048576":             {body[size-1<<20:], 1 << 20},
		"bytes=0-3,3000000-3000003":  {nil, 8},
		"bytes=0-9,20-29,40-49,5-9,": {nil, 35},
	} {
		before := counted.bytes.Load()
		a := s.ask(http.MethodGet, "/data/a.parquet", "Range", asked)
		if got := counted.bytes.Load() - before; got > c.most {
			t.Errorf("Range %q reads %d bytes, want %d at most", asked, got, c.most)
		}
		if c.want != nil && !bytes.Equal(a.body, c.want) {
			t.Errorf("Range %q: %s, %d bytes, want %d", asked, a.Status, len(a.body), len(c.want))
		}
		if c.want != nil {
			continue
		}
		_, params, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		for parts := multipart.NewReader(bytes.NewReader(a.body), params["boundary"]); ; {
			part, err := parts.NextPart()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			var from, to, whole int
			if _, err := fmt.Sscanf(part.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &whole); err != nil || whole != size {
				t.Fatal(err, whole)
			}
			if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, body[from:to+1]) {
				t.Errorf("Range %q: bytes %d to %d are %x (%v)", asked, from, to, got, err)
			}
		}
	}
	// A file whose end cannot be read: the client must notice.
	s.query(`update datasets set tables = jsonb_set(tables, '{0,bytes}', '9000000') returning day`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/data/a.parquet", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := plain.Do(r)
	if err != nil {
		return
	}
	defer func() { _ = got.Body.Close() }()
	if n, err := io.Copy(io.Discard, got.Body); err == nil {
		t.Errorf("a file that ends early looks whole: %d bytes", n)
	}
}

// countedReads counts the reads of bytes.
type countedReads struct {
	api.Datasets

	n atomic.Int64
}

func (c *countedReads) DatasetBytes(ctx context.Context, sha256 string, from, n int64) ([]byte, error) {
	c.n.Add(1)
	return c.Datasets.DatasetBytes(ctx, sha256, from, n)
}

// A request with thousands of ranges, or with ranges that overlap, gets the whole file in a few reads. A request with some ranges gets them.
func TestManyRangesOfAFileAreNoRanges(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	counted := &countedReads{Datasets: s.open(postgres.RoleAPI)}
	s.serve(api.Options{View: s.view, Datasets: counted})
	body := make([]byte, 100_000)
	_, _ = rand.Read(body)
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	set := postgres.Dataset{Day: "2026-03-02", AsOf: noon, Tables: []postgres.DatasetTable{{Name: "a", Title: "a", SHA256: sum, Bytes: int64(len(body)), Rows: 1}}}
	if _, err := s.worker.SaveDataset(t.Context(), task.Fence{}, set, map[string][]byte{sum: body}); err != nil {
		t.Fatal(err)
	}
	apart := func(n int) string {
		var ranges []string
		for i := range n {
			ranges = append(ranges, fmt.Sprintf("%d-%d", 100*i, 100*i+9))
		}
		return "bytes=" + strings.Join(ranges, ",")
	}
	for what, c := range map[string]struct {
		asked  string
		status int
		most   int64
	}{
		"one byte, thousands of times":        {"bytes=" + strings.Repeat("0-0,", 4000), http.StatusOK, 16},
		"the end, three times over":           {"bytes=-9,-9,-9,-9", http.StatusOK, 16},
		"from everywhere to the end":          {"bytes=99990-,99991-,99992-,99993-", http.StatusOK, 16},
		"seventeen ranges apart":              {apart(17), http.StatusOK, 16},
		"sixteen ranges apart":                {apart(16), http.StatusPartialContent, 16},
		"two ranges that overlap the others":  {"bytes=0-9,5-14,100-109,105-114", http.StatusPartialContent, 4},
		"the magic bytes of both ends, twice": {"bytes=0-3,-4,0-3,-4", http.StatusPartialContent, 4},
	} {
		before := counted.n.Load()
		a := s.ask(http.MethodGet, "/data/a.parquet", "Range", c.asked)
		if reads := counted.n.Load() - before; a.StatusCode != c.status || reads > c.most {
			t.Errorf("%s: %s with %d reads, want %d with %d at most", what, a.Status, reads, c.status, c.most)
		}
		if c.status == http.StatusOK && !bytes.Equal(a.body, body) {
			t.Errorf("%s: %d bytes, want all %d", what, len(a.body), len(body))
		}
	}
}

func TestAnyWebPageMayReadADataSetInRanges(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	s.serve(api.Options{View: s.view, Datasets: s.open(postgres.RoleAPI)})
	body := []byte("PAR1 a table PAR1")
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	set := postgres.Dataset{Day: "2026-03-02", AsOf: noon, Tables: []postgres.DatasetTable{{Name: "a", Title: "a", SHA256: sum, Bytes: int64(len(body)), Rows: 1}}}
	if _, err := s.worker.SaveDataset(t.Context(), task.Fence{}, set, map[string][]byte{sum: body}); err != nil {
		t.Fatal(err)
	}
	const origin = "https://elsewhere.example"
	for _, path := range []string{"/data/manifest.json", "/data/a.parquet", "/data/2026-03-02/a.parquet", "/data/none.parquet"} {
		if a := s.ask(http.MethodGet, path, "Origin", origin); a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %s, Access-Control-Allow-Origin %q", path, a.Status, a.Header.Get("Access-Control-Allow-Origin"))
		}
	}
	for _, path := range []string{"/data/a.parquet", "/data/2026-03-02/a.parquet"} {
		pre := s.ask(http.MethodOptions, path, "Origin", origin, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "range, if-range")
		allowed := strings.Split(strings.ToLower(pre.Header.Get("Access-Control-Allow-Headers")), ", ")
		if pre.StatusCode != http.StatusNoContent || !slices.Contains(allowed, "range") || !slices.Contains(allowed, "if-range") {
			t.Errorf("preflight of %s: %s, allowed are %q", path, pre.Status, allowed)
		}
		whole := s.ask(http.MethodHead, path, "Origin", origin)
		if whole.StatusCode != http.StatusOK || len(whole.body) != 0 || whole.Header.Get("Content-Length") != "17" || whole.Header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("HEAD %s: %s, %v", path, whole.Status, whole.Header)
		}
		part := s.ask(http.MethodGet, path, "Origin", origin, "Range", "bytes=5-11", "If-Range", whole.Header.Get("ETag"))
		if part.StatusCode != http.StatusPartialContent || string(part.body) != "a table" || part.Header.Get("Content-Range") != "bytes 5-11/17" {
			t.Errorf("a range of %s: %s %q, %s", path, part.Status, part.body, part.Header.Get("Content-Range"))
		}
		exposed := strings.Split(part.Header.Get("Access-Control-Expose-Headers"), ", ")
		for _, name := range []string{"Accept-Ranges", "Content-Length", "Content-Range", "ETag", "Retry-After"} {
			if !slices.Contains(exposed, name) {
				t.Errorf("%s: a page cannot read %s, only %q", path, name, exposed)
			}
		}
	}
}

// TestRangesAreReadAsTheStandardSays asks both places that serve bytes. The rules are of RFC 9110, 13.2.2 and 14.1.2 to 14.2.
func TestRangesAreReadAsTheStandardSays(t *testing.T) {
	t.Parallel()
	s := startRaw(t)
	const raw = "<script>alert(1)</script>\r\nday,value\r\n2026-02-20,20.5\r\n"
	_, digest := s.fetched("open", "https://upstream.example/a", raw, before, up(20, 20.5))
	table := []byte("PAR1 a table PAR1")
	sum := fmt.Sprintf("%x", sha256.Sum256(table))
	set := postgres.Dataset{Day: "2026-03-02", AsOf: noon, Tables: []postgres.DatasetTable{{Name: "a", Title: "a", SHA256: sum, Bytes: int64(len(table)), Rows: 1}}}
	if _, err := s.worker.SaveDataset(t.Context(), task.Fence{}, set, map[string][]byte{sum: table}); err != nil {
		t.Fatal(err)
	}
	codes := map[int]string{412: "precondition_failed", 416: "range_not_satisfiable"}
	bodies := map[string]string{"/data/a.parquet": string(table), "/raw/" + digest: raw}
	for path, body := range bodies {
		size := len(body)
		for _, c := range []struct {
			asked  []string
			status int
			sent   string // the bytes of 200 and 206
			part   string // Content-Range
		}{
			{[]string{"Range", "bytes=5-11"}, 206, body[5:12], "bytes 5-11/SIZE"},
			{[]string{"Range", "Bytes=5-11"}, 206, body[5:12], "bytes 5-11/SIZE"},
			{[]string{"Range", "bytes=-4"}, 206, body[size-4:], fmt.Sprintf("bytes %d-%d/SIZE", size-4, size-1)},
			{[]string{"Range", "bytes=, 3-3 ,"}, 206, body[3:4], "bytes 3-3/SIZE"},
			{[]string{"Range", "bytes=0-99999999999999999999"}, 206, body, fmt.Sprintf("bytes 0-%d/SIZE", size-1)},
			{[]string{"Range", "bytes=-99999999999999999999"}, 206, body, fmt.Sprintf("bytes 0-%d/SIZE", size-1)},
			{[]string{"Range", "bytes=-0,3-3"}, 206, body[3:4], "bytes 3-3/SIZE"},
			{[]string{"Range", "lines=0-3"}, 200, body, ""},
			{[]string{"Range", "bytes=5-2"}, 200, body, ""},
			{[]string{"Range", "bytes=0-1,5-2"}, 200, body, ""},
			{[]string{"Range", "bytes=99999999999999999999-5"}, 200, body, ""},
			{[]string{"Range", "bytes=-"}, 200, body, ""},
			{[]string{"Range", "bytes="}, 200, body, ""},
			{[]string{"Range", "bytes=a-b"}, 200, body, ""},
			{[]string{"Range", "bytes=+1-+2"}, 200, body, ""},
			{[]string{"Range", "bytes=--5"}, 200, body, ""},
			{[]string{"Range", "bytes"}, 200, body, ""},
			{[]string{"Range", "bytes=0-1", "If-Range", `"another"`}, 200, body, ""},
			{[]string{"Range", "bytes=-0"}, 416, "", "bytes */SIZE"},
			{[]string{"Range", "bytes=9000-"}, 416, "", "bytes */SIZE"},
			{[]string{"Range", "bytes=99999999999999999999-"}, 416, "", "bytes */SIZE"},
			{[]string{"If-Match", `"another"`}, 412, "", ""},
			{[]string{"If-Match", `"another"`, "Range", "bytes=9000-"}, 412, "", ""},
		} {
			a := s.ask(http.MethodGet, path, c.asked...)
			part := strings.ReplaceAll(c.part, "SIZE", fmt.Sprint(size))
			if a.StatusCode != c.status || a.Header.Get("Content-Range") != part {
				t.Errorf("%s with %q: %s, Content-Range %q; want %d, %q", path, c.asked, a.Status, a.Header.Get("Content-Range"), c.status, part)
			}
			if c.status < 300 {
				if string(a.body) != c.sent {
					t.Errorf("%s with %q: %q, want %q", path, c.asked, a.body, c.sent)
				}
				continue
			}
			problem := s.object(a)
			if got := a.Header.Get("Content-Type"); got != "application/problem+json" || problem["code"] != codes[c.status] {
				t.Errorf("%s with %q: %s, %s: %s", path, c.asked, a.Status, got, a.body)
			}
			for _, name := range []string{"Content-Disposition", "ETag"} {
				if got := a.Header.Get(name); got != "" {
					t.Errorf("%s with %q: the problem has %s: %s", path, c.asked, name, got)
				}
			}
		}
		// DuckDB asks by HEAD whether there are ranges.
		part := fmt.Sprintf("bytes 5-11/%d", size)
		if a := s.ask(http.MethodHead, path, "Range", "bytes=5-11"); a.StatusCode != http.StatusPartialContent || a.Header.Get("Content-Range") != part {
			t.Errorf("HEAD %s with a range: %s, Content-Range %q; want %q", path, a.Status, a.Header.Get("Content-Range"), part)
		}
	}
}

func TestTheDescriptionOfADataSetLeadsToItsSourcesAndItsProof(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	s.serve(api.Options{View: s.view, Datasets: s.open(postgres.RoleAPI), TransparencyLog: s.open(postgres.RoleAPI)})
	keys, err := tlog.NewLogKey(rand.Reader, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	signer := &markedSigner{}
	if signer.Signer, err = tlog.NewSigner(keys.Private); err != nil {
		t.Fatal(err)
	}
	begin := postgres.LogStart{Log: postgres.LogRecord, Origin: signer.Origin(), VKey: signer.VKey(), Environment: "live"}
	if err := s.worker.BeginLog(t.Context(), begin); err != nil {
		t.Fatal(err)
	}
	body := []byte("PAR1 a table PAR1")
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	set := postgres.Dataset{Day: "2026-03-02", AsOf: noon}
	for name, source := range map[string]string{"a": "https://publisher.example/a", "chain": ""} {
		set.Tables = append(set.Tables, postgres.DatasetTable{
			Name: name, Title: name, Source: source, SHA256: sum, Bytes: int64(len(body)), Rows: 1, Columns: []postgres.DatasetColumn{{Name: "at", Type: "datetime"}},
		})
	}
	if _, err := s.worker.SaveDataset(t.Context(), task.Fence{}, set, map[string][]byte{sum: body}); err != nil {
		t.Fatal(err)
	}
	const address = "/data/2026-03-02/croissant.json"
	before := s.ask(http.MethodGet, address)
	if strings.Contains(string(before.body), "subjectOf") || strings.Contains(before.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("before its leaf is in a signed size: %s, %s", before.Header.Get("Cache-Control"), before.body)
	}
	if _, err := s.worker.NumberLeaves(t.Context(), postgres.LogRecord); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.worker.IntegrateLeaves(t.Context(), postgres.LogRecord, signer); err != nil {
		t.Fatal(err)
	}
	croissant := s.get(address)
	if diff := cmp.Diff([]any{"https://publisher.example/a"}, croissant["isBasedOn"]); diff != "" {
		t.Errorf("isBasedOn (-want +got):\n%s", diff)
	}
	about, _ := croissant["subjectOf"].(map[string]any)
	url, _ := about["url"].(string)
	_, path, ok := strings.Cut(url, "/log/proof/")
	if !ok {
		t.Fatalf("subjectOf is %v", croissant["subjectOf"])
	}
	proof, err := tlog.ParseProof(s.ask(http.MethodGet, "/log/proof/"+path).body)
	if err != nil {
		t.Fatal(err)
	}
	contents := s.ask(http.MethodGet, "/data/2026-03-02/contents.json", "Accept-Encoding", "identity").body
	leaf, err := tlog.ParseLeaf(proof.Extra)
	if err != nil || leaf.Kind != tlog.KindDataset || leaf.Get("sha256") != fmt.Sprintf("%x", sha256.Sum256(contents)) {
		t.Errorf("the proof is of %q (%v)", proof.Extra, err)
	}
}
