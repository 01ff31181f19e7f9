package audit_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/chain/tlog"
)

// publishSet adds the data set of a day to a server, and its leaf to the log. The manifest of the last one is the newest.
func (s *sealedServer) publishSet(day, content string, at time.Time) {
	s.tb.Helper()
	if s.files == nil {
		s.files = map[string][]byte{}
	}
	sum := sha256.Sum256([]byte(content))
	file := map[string]any{"path": cmp.Or(s.file, "chain.parquet"), "name": "chain", "rows": 6, "bytes": len(content), "sha256": hex.EncodeToString(sum[:])}
	set := map[string]any{"date": day, "as_of": tlog.FormatTime(at), "files": []any{file}}
	contents := s.json(set)
	file["url"], set["log_index"] = "https://elsewhere.example/"+day+"/chain.parquet", len(s.leaves)
	s.files["/data/"+day+"/contents.json"], s.files["/data/"+day+"/chain.parquet"] = contents, []byte(content)
	s.files["/data/manifest.json"] = s.json(set)
	sum = sha256.Sum256(contents)
	s.add(tlog.KindDataset, day, tlog.FormatTime(at), hex.EncodeToString(sum[:]), "1", tlog.FormatTime(at))
}

func (s *sealedServer) json(v any) []byte {
	s.tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		s.tb.Fatal(err)
	}
	return b
}

func TestALieAboutADataSetIsNamed(t *testing.T) {
	t.Parallel()
	replace := func(path, from, to string) func(*testing.T, *sealedServer) {
		return func(t *testing.T, s *sealedServer) {
			t.Helper()
			text := string(s.files[path])
			if !strings.Contains(text, from) {
				t.Fatalf("%s has no %q: %s", path, from, text)
			}
			s.files[path] = []byte(strings.Replace(text, from, to, 1))
		}
	}
	const manifest, contents, file = "/data/manifest.json", "/data/2026-03-04/contents.json", "/data/2026-03-04/chain.parquet"
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	for name, tt := range map[string]struct {
		edit   func(t *testing.T, s *sealedServer)
		status audit.Status
		says   string
	}{
		"all is as in the log":               {func(*testing.T, *sealedServer) {}, audit.OK, "1 file of the data set of 2026-03-04, 12 bytes, are those of leaf "},
		"without a policy":                   {func(_ *testing.T, s *sealedServer) { s.policy = nil }, audit.Unproven, "Nobody vouches for this log"},
		"a file was changed":                 {replace(file, "today", "toady"), audit.Mismatch, "chain.parquet of the data set of 2026-03-04 has the SHA-256 " + hash("PAR1 toady  ")},
		"a file is longer":                   {replace(file, "today", "today!"), audit.Mismatch, "chain.parquet of the data set of 2026-03-04 has the SHA-256"},
		"a file is away":                     {func(_ *testing.T, s *sealedServer) { delete(s.files, file) }, audit.Mismatch, file + " is in a data set of the log, and it is not served"},
		"the manifest names another hash":    {replace(manifest, hash("PAR1 today  "), hash("PAR1 toady  ")), audit.Mismatch, "of sha256 of chain.parquet"},
		"the manifest names other rows":      {replace(manifest, `"rows":6`, `"rows":7`), audit.Mismatch, `the manifest of 2026-03-04 says "7" of rows of chain.parquet, and the log's says "6"`},
		"the manifest says more":             {replace(manifest, `"rows":6`, `"rows":6,"license":"https://free.example/"`), audit.Mismatch, "what the log's does not: license"},
		"the manifest is as of another time": {replace(manifest, `"as_of":"2026-03-04T05:30`, `"as_of":"2026-03-04T06:30`), audit.Mismatch, "is as of 2026-03-04T06:30:00Z, and the log's as of 2026-03-04T05:30:00Z"},
		"the contents were changed":          {replace(contents, `"rows":6`, `"rows":7`), audit.Mismatch, "contents.json of the data set of 2026-03-04 has the SHA-256"},
		"all of them were changed": {func(_ *testing.T, s *sealedServer) {
			leaves := s.leaves
			s.publishSet("2026-03-04", "PAR1 cheat  ", setAt.AddDate(0, 0, 1))
			s.leaves = leaves
		}, audit.Mismatch, "contents.json of the data set of 2026-03-04 has the SHA-256"},
		"the contents are away": {func(_ *testing.T, s *sealedServer) { delete(s.files, contents) }, audit.Mismatch, "its contents.json is not served"},
		"an old manifest is given as new": {func(_ *testing.T, s *sealedServer) {
			leaves := s.leaves
			s.publishSet("2026-03-03", "PAR1 before  ", setAt)
			s.leaves = leaves
		}, audit.Mismatch, "the data set of 2026-03-03 is given as the newest, and leaf "},
		"no manifest is served": {func(_ *testing.T, s *sealedServer) { delete(s.files, manifest) }, audit.Mismatch, "and no data set is served"},
		"a newer one that is not in the log": {func(_ *testing.T, s *sealedServer) {
			leaves := s.leaves
			s.publishSet("2026-03-05", "PAR1 after  ", now)
			s.leaves = leaves
		}, audit.NotChecked, "the data set of 2026-03-05 is not in the"},
		"a leaf that is another's": {func(t *testing.T, s *sealedServer) {
			t.Helper()
			leaves := s.leaves
			s.publishSet("2026-03-05", "PAR1 after  ", now)
			s.leaves = leaves
			replace(manifest, fmt.Sprintf(`"log_index":%d`, len(leaves)), `"log_index":3`)(t, s)
		}, audit.Mismatch, "is leaf 3 of the log, and it is not"},
		"two sets of a day are in the log": {func(_ *testing.T, s *sealedServer) {
			s.publishSet("2026-03-04", "PAR1 cheat  ", setAt.AddDate(0, 0, 1))
		}, audit.Mismatch, "the log has two data sets of 2026-03-04"},
		"a file that leads elsewhere is read": {func(_ *testing.T, s *sealedServer) {
			s.file = "../x.parquet"
			s.publishSet("2026-03-05", "PAR1 after  ", now.Add(-time.Hour))
		}, audit.Mismatch, "has a file that cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := witnessedServer(t, time.Hour, time.Hour)
			s.publishSet("2026-03-03", "PAR1 before  ", setAt)
			s.publishSet("2026-03-04", "PAR1 today  ", setAt.AddDate(0, 0, 1))
			tt.edit(t, s)
			r := s.report()
			c := check(t, r, "dataset")
			if c.Status != tt.status || !strings.Contains(c.Detail, tt.says) {
				t.Errorf("%s: %s\nwant %s: %s", c.Status, c.Detail, tt.status, tt.says)
			}
			if (r.Verdict == chain.Contradicted) != (tt.status == audit.Mismatch) {
				t.Errorf("the verdict is %s", r.Verdict)
			}
		})
	}
}

var setAt = time.Date(2026, 3, 3, 5, 30, 0, 0, time.UTC)

func TestAServerWithoutADataSetIsNotCheckedForOne(t *testing.T) {
	t.Parallel()
	s := witnessedServer(t, time.Hour, time.Hour)
	if c := check(t, s.report(), "dataset"); c.Status != audit.NotChecked || c.Detail != "the server has no data set" {
		t.Errorf("%s: %s", c.Status, c.Detail)
	}
}
