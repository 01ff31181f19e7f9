package api

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// Datasets reads the daily data sets. *postgres.DB implements it.
type Datasets interface {
	DatasetOf(ctx context.Context, day string) (postgres.Dataset, error)
	DatasetDays(ctx context.Context) ([]string, error)
	DatasetBytes(ctx context.Context, sha256 string, from, n int64) ([]byte, error)
}

const datasetPrefix = "/data/"

// dayOfSet is the beginning of the path of a file of a certain day.
var dayOfSet = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})/(.*)$`)

// rangesExposed are the header fields that a web page may read of a file: the fields of every response, and the fields that a reader of ranges needs.
var rangesExposed = []string{corsFields.Get("Access-Control-Expose-Headers") + ", Accept-Ranges, Content-Length, Content-Range"}

// serveDataset serves the paths below /data/: the manifest, descriptions of the set, and its Parquet files. With a day they never change.
func (s *Server) serveDataset(w http.ResponseWriter, r *http.Request) error {
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	day, name := "", strings.TrimPrefix(r.URL.Path, datasetPrefix)
	if m := dayOfSet.FindStringSubmatch(name); m != nil {
		day, name = m[1], m[2]
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return errNoDataset
		}
	}
	set, err := s.o.Datasets.DatasetOf(r.Context(), day)
	if errors.Is(err, postgres.ErrNotFound) {
		return errNoDataset
	}
	if err != nil {
		return err
	}
	cache, leads := view.SetCache(set, day == "")
	at := s.view.SetPlace(set)
	switch name {
	case "", "manifest.json":
		var days []string
		if day == "" {
			if days, err = s.o.Datasets.DatasetDays(r.Context()); err != nil {
				return err
			}
		}
		return sendJSON(w, r, s.view.DatasetManifest(set, at, days), leads)
	case "contents.json":
		if set.Contents == nil {
			return errNoDataset
		}
		return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, cache, []byte(*set.Contents), time.Time{}))
	case "datapackage.json":
		return sendJSON(w, r, s.view.DataPackage(set, at), cache)
	case "croissant.json":
		return sendJSON(w, r, s.view.Croissant(set, at), leads)
	}
	for _, t := range set.Tables {
		if t.Name+".parquet" != name {
			continue
		}
		h := w.Header()
		h.Set("Content-Type", view.TypeParquet)
		h.Set("Cache-Control", cache)
		h.Set("ETag", `"`+t.SHA256+`"`)
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		h["Access-Control-Expose-Headers"] = rangesExposed
		body := &pieceReader{size: t.Bytes, read: func(from, n int64) ([]byte, error) { return s.o.Datasets.DatasetBytes(r.Context(), t.SHA256, from, n) }}
		err := serveBytes(w, r, body, int(t.Bytes))
		if cause := body.err.Load(); cause != nil {
			s.o.Log.ErrorContext(r.Context(), "a file of a data set could not be read to its end", "file", name, "date", set.Day, "err", *cause)
			panic(http.ErrAbortHandler) // the header is sent: a client must not take a part for the whole
		}
		return err
	}
	return errNoDataset
}

var errNoDataset = &problemError{
	code: view.CodeNotFound, detail: "No data set has a file at this address. /data/manifest.json lists the files of the newest set.",
}

// sendJSON serves a value as a document.
func sendJSON(w http.ResponseWriter, r *http.Request, v any, cache string) error {
	body, err := view.Encode(v)
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, cache, body, time.Time{}))
}
