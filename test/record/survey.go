package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/eia"
	"tidemark/internal/series"
)

// eiaFolder is the folder of EIA's recordings below --from.
const eiaFolder = "eia"

// pageSources are the sources whose pages the tool can write.
func pageSources() []ingest.Source { return []ingest.Source{eia.Spot(""), eia.Weekly("")} }

// recording is one series as one file recorded it.
type recording struct {
	// file is the recording's path below --from, with slashes.
	file string
	// saved is when the publisher, or who recorded it, saved the file.
	saved time.Time
	// released and next are the dates of the release that the file shows and of the one after it.
	released, next time.Time
	source         string
	series         series.ID
	readings       []series.Reading
}

// omission is something that was recorded and is not in the archive.
type omission struct{ what, why string }

// exchange writes the answer that the publisher would have given when the recording was saved.
func (r recording) exchange() (series.Fetch, []byte, error) {
	page := eia.Page{
		Series: r.series, Released: r.released, Next: r.next, Readings: r.readings,
		Note: fmt.Sprintf("Constructed around recorded figures: %s, saved %s", r.file, r.saved.UTC().Format(time.RFC3339)),
	}
	address, err := page.URL()
	if err != nil {
		return series.Fetch{}, nil, err
	}
	body, err := page.HTML()
	if err != nil {
		return series.Fetch{}, nil, err
	}
	return series.Fetch{
		Source:      r.source,
		URL:         address,
		Status:      http.StatusOK,
		Header:      map[string]string{"Content-Type": "text/html; charset=utf-8"},
		FetchedAt:   r.saved.UTC(),
		Constructed: true,
	}, body, nil
}

// survey reads all files below the folder of EIA and sorts the recordings by the time they were saved. A file whose content does not match
// its name is an error; a file that no source would request is an omission.
func survey(from string) ([]recording, []omission, error) {
	wanted := map[series.ID]string{} // series to source
	for _, s := range pageSources() {
		for _, i := range s.Series {
			wanted[i.ID] = s.ID
		}
	}
	var recordings []recording
	var omissions []omission
	root := filepath.Join(from, eiaFolder)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, left, err := read(filepath.ToSlash(file), body, wanted)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		recordings, omissions = append(recordings, found...), append(omissions, left...)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the recordings: %w", err)
	}
	slices.SortStableFunc(recordings, func(a, b recording) int {
		if c := a.saved.Compare(b.saved); c != 0 {
			return c
		}
		return strings.Compare(string(a.series), string(b.series))
	})
	return recordings, omissions, nil
}

// read reads one file.
func read(file string, body []byte, wanted map[series.ID]string) ([]recording, []omission, error) {
	switch {
	case strings.HasSuffix(file, ".xls"):
		return readWorkbook(file, body, wanted)
	case vintageName.MatchString(file):
		r, err := readVintage(file, body, wanted)
		if err != nil {
			return nil, nil, err
		}
		return []recording{r}, nil, nil
	case strings.HasSuffix(file, "README.md"):
		return nil, nil, nil
	case strings.HasSuffix(file, "/wti-daily.csv"):
		return nil, []omission{{file, "carries no save time; the workbook of spot prices has the same values and one"}}, nil
	case strings.Contains(file, "/wpsr/"):
		return nil, []omission{{file, "an excerpt of the weekly report's table, which no source reads"}}, nil
	case strings.HasSuffix(file, ".csv"):
		return nil, []omission{{file, "a series that no source reads"}}, nil
	}
	return nil, []omission{{file, "a kind of file that is not known here"}}, nil
}
