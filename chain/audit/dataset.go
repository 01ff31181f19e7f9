package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"time"

	"tidemark/chain/tlog"
)

// Limits of a daily data set.
const (
	maxManifest    = 4 << 20
	maxDataset     = int64(4) << 30
	datasetPath    = "/data/"
	datasetSettles = 10 * time.Minute // a cache may have the manifest of the day before for so long
)

// datasetLeaf is the statement of the log about the data set of a day.
type datasetLeaf struct {
	index  int64
	sha256 string
	at     time.Time
}

// addDataset keeps the first leaf of each data set, and the day of another one about the same.
func (l *sealing) addDataset(index int64, leaf tlog.Leaf) {
	if leaf.Kind != tlog.KindDataset {
		return
	}
	day := leaf.Get("date")
	first, twice := l.datasets[day]
	switch {
	case twice && first.sha256 != leaf.Get("sha256") && l.datasetTwice == "":
		l.datasetTwice = fmt.Sprintf("the log has two data sets of %s, leaf %d and leaf %d", day, first.index, index)
	case !twice:
		if l.datasets == nil {
			l.datasets = map[string]datasetLeaf{}
		}
		l.datasets[day] = datasetLeaf{index, leaf.Get("sha256"), leaf.At()}
		l.newestDataset = max(l.newestDataset, day)
	}
}

// datasetManifest is /data/manifest.json, and without addresses what contents.json says.
type datasetManifest struct {
	Date     string           `json:"date"`
	AsOf     time.Time        `json:"as_of"`
	LogIndex *int64           `json:"log_index"`
	Files    []map[string]any `json:"files"`
}

// errDataset is a fault of a data set, against its publisher.
type errDataset struct{ text string }

func (e errDataset) Error() string { return e.text }

func datasetFault(text string, args ...any) error { return errDataset{fmt.Sprintf(text, args...)} }

var dayForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// compareDataset holds the newest data set to its leaf in the log: what it says of itself, its manifest, and the bytes of each file.
func compareDataset(ctx context.Context, s *server, l *sealing, now time.Time) Check {
	c := Check{Name: "dataset", Status: OK}
	detail, err := s.dataset(ctx, l, now)
	fault := errDataset{}
	switch {
	case errors.As(err, &fault):
		c.Status, detail = Mismatch, fault.text
	case err != nil:
		c.Status, detail = NotChecked, err.Error()
	case !l.vouched:
		c.Status = Unproven
		detail += ". Nobody vouches for this log: name its key and your witnesses with --policy"
	}
	c.Detail = detail
	return c
}

func (s *server) dataset(ctx context.Context, l *sealing, now time.Time) (string, error) {
	if l.datasetTwice != "" {
		return "", datasetFault("%s", l.datasetTwice)
	}
	manifest, err := s.newestManifest(ctx, l, now)
	if err != nil {
		return "", err
	}
	leaf, logged := l.datasets[manifest.Date]
	switch {
	case !logged && manifest.LogIndex != nil && *manifest.LogIndex < l.size:
		return "", datasetFault("the manifest says that the data set of %s is leaf %d of the log, and it is not", manifest.Date, *manifest.LogIndex)
	case !logged:
		return "", fmt.Errorf("the data set of %s is not in the %d leaves that were read", manifest.Date, l.size)
	}
	said, err := s.file(ctx, datasetPath+manifest.Date+"/contents.json", maxManifest)
	if errors.Is(err, errNotThere) {
		return "", datasetFault("the data set of %s is leaf %d of the log, and its contents.json is not served", manifest.Date, leaf.index)
	}
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(said); hex.EncodeToString(sum[:]) != leaf.sha256 {
		return "", datasetFault("contents.json of the data set of %s has the SHA-256 %x, and leaf %d of the log says %s", manifest.Date, sum, leaf.index, leaf.sha256)
	}
	var contents datasetManifest
	if err := Decode(said, &contents); err != nil {
		return "", err
	}
	if err := manifest.compare(contents); err != nil {
		return "", err
	}
	size, err := s.datasetFiles(ctx, contents)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s of the data set of %s, %d bytes, are those of leaf %d of the log, dated %s", count(len(contents.Files), "file"), manifest.Date, size,
		leaf.index, tlog.FormatTime(leaf.at)), nil
}

// newestManifest reads the manifest of the newest set. If it is older than the newest set in the log, it is read again. If it is still
// older, that is a fault.
func (s *server) newestManifest(ctx context.Context, l *sealing, now time.Time) (m datasetManifest, err error) {
	for try := 0; ; try++ {
		body, err := s.file(ctx, datasetPath+"manifest.json", maxManifest)
		gone := errors.Is(err, errNotThere)
		if err != nil && !gone {
			return m, err
		}
		if m = (datasetManifest{}); !gone {
			if err := Decode(body, &m); err != nil {
				return m, err
			}
			if !dayForm.MatchString(m.Date) {
				return m, datasetFault("the manifest of the data set names no day")
			}
		}
		newest := l.datasets[l.newestDataset]
		switch {
		case m.Date >= l.newestDataset && !gone:
			return m, nil
		case l.newestDataset == "":
			return m, errors.New("the server has no data set")
		case try < staleTries:
		case !newest.at.Before(now.Add(-datasetSettles)):
			return m, fmt.Errorf("the data set of %s is in the log since %s, and is not served yet", l.newestDataset, tlog.FormatTime(newest.at))
		case gone:
			return m, datasetFault("the data set of %s is leaf %d of the log, and no data set is served", l.newestDataset, newest.index)
		default:
			return m, datasetFault("the data set of %s is given as the newest, and leaf %d of the log is that of %s", m.Date, newest.index, l.newestDataset)
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(stalePause):
		}
	}
}

// compare holds a manifest to the contents that the log knows. Addresses are the manifest's own.
func (m datasetManifest) compare(contents datasetManifest) error {
	switch {
	case contents.Date != m.Date:
		return datasetFault("the manifest is of %s, and contents.json in the log of %s", m.Date, contents.Date)
	case !contents.AsOf.Equal(m.AsOf):
		return datasetFault("the manifest of %s is as of %s, and the log's as of %s", m.Date, m.AsOf.Format(time.RFC3339), contents.AsOf.Format(time.RFC3339))
	case len(contents.Files) != len(m.Files):
		return datasetFault("the manifest of %s has %d files, and the log's has %d", m.Date, len(m.Files), len(contents.Files))
	}
	for i, want := range contents.Files {
		for member, value := range want {
			if got := m.Files[i][member]; !reflect.DeepEqual(got, value) {
				return datasetFault("the manifest of %s says %.100q of %s of %v, and the log's says %.100q", m.Date, fmt.Sprint(got), member, want["path"], fmt.Sprint(value))
			}
		}
		for member := range m.Files[i] {
			if _, known := want[member]; !known && member != "url" {
				return datasetFault("the manifest of %s says of %v what the log's does not: %s", m.Date, want["path"], member)
			}
		}
	}
	return nil
}

var filePath = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}\.parquet$`)

// datasetFiles reads each file of a set and compares its bytes with their hash.
func (s *server) datasetFiles(ctx context.Context, contents datasetManifest) (total int64, err error) {
	var paths []string
	for _, f := range contents.Files {
		path, _ := f["path"].(string)
		size, _ := f["bytes"].(float64)
		if !filePath.MatchString(path) || slices.Contains(paths, path) || size < 0 || size > float64(maxDataset-total) {
			return 0, datasetFault("the data set of %s has a file that cannot be read: %.100q", contents.Date, path)
		}
		paths = append(paths, path)
		n, sum, err := s.digest(ctx, datasetPath+contents.Date+"/"+path, int64(size))
		if err != nil {
			return 0, err
		}
		if n != int64(size) || sum != f["sha256"] {
			return 0, datasetFault("%s of the data set of %s has the SHA-256 %s, and the log says %v", path, contents.Date, sum, f["sha256"])
		}
		total += n
	}
	return total, nil
}

// digest reads a file of the server, and at most a byte more than it should have.
func (s *server) digest(ctx context.Context, path string, size int64) (n int64, sum string, err error) {
	address := *s.base
	address.Path += path
	h := sha256.New()
	err = s.ask(ctx, &address, "*/*", func(resp *http.Response, body io.Reader) error {
		if resp.StatusCode == http.StatusNotFound {
			return datasetFault("%s is in a data set of the log, and it is not served", path)
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the server answers %s to %s", resp.Status, path)
		}
		n, err = io.Copy(h, io.LimitReader(body, size+1))
		return err
	})
	return n, hex.EncodeToString(h.Sum(nil)), err
}
