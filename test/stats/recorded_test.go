package stats

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/extrame/xls"

	"tidemark/internal/series"
)

// recorded is the folder of workbooks saved by EIA, if the recorded upstream data are next to the repository.
const recorded = "../../../shared/upstream/eia"

// lag is the assumed time until a recorded value became known. No statistic depends on it except the interval's horizon.
const lag = 5 * 24 * time.Hour

// spotPrices are the three legs of the crack spread.
func spotPrices(tb testing.TB) series.Set {
	tb.Helper()
	return spot.read(tb)
}

// weeklyPetroleum are the four weekly series.
func weeklyPetroleum(tb testing.TB) series.Set {
	tb.Helper()
	set := series.Set{}
	for _, w := range weekly {
		maps.Copy(set, w.read(tb))
	}
	return set
}

var (
	spot = recordedWorkbook("workbooks/PET_PRI_SPT_S1_D.xls",
		"RWTC", "EER_EPMRU_PF4_Y35NY_DPG", "EER_EPD2DXL0_PF4_Y35NY_DPG")
	weekly = []workbook{
		recordedWorkbook("hist_xls/WCESTUS1w.xls", "WCESTUS1"),
		recordedWorkbook("hist_xls/WGTSTUS1w.xls", "WGTSTUS1"),
		recordedWorkbook("hist_xls/WDISTUS1w.xls", "WDISTUS1"),
		recordedWorkbook("hist_xls/WPULEUS3w.xls", "WPULEUS3"),
	}
)

// workbook is a file of EIA's that is read once.
type workbook struct {
	name string
	load func() (series.Set, error)
}

func recordedWorkbook(name string, keys ...string) workbook {
	return workbook{name: name, load: sync.OnceValues(func() (series.Set, error) {
		return readWorkbook(filepath.Join(recorded, filepath.FromSlash(name)), keys)
	})}
}

// read yields a copy of the workbook's series, or skips the test when the file is not there.
func (w workbook) read(tb testing.TB) series.Set {
	tb.Helper()
	set, err := w.load()
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("the recorded workbook %s is not beside the repository", w.name)
	}
	if err != nil {
		tb.Fatal(err)
	}
	out := series.Set{}
	for id, points := range set {
		out[id] = slices.Clone(points)
	}
	return out
}

// readWorkbook finds series by their source keys: row 2 of a data sheet names the columns, the data begin in row 4, oldest first. Blank
// cells are skipped.
func readWorkbook(path string, keys []string) (series.Set, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	book, err := xls.Open(path, "utf-8")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	set := series.Set{}
	for s := range book.NumSheets() {
		sheet := book.GetSheet(s)
		if !strings.HasPrefix(sheet.Name, "Data") {
			continue
		}
		header := sheet.Row(1)
		for col := header.FirstCol(); col < header.LastCol(); col++ {
			key := header.Col(col)
			if !slices.Contains(keys, key) {
				continue
			}
			points, err := readColumn(sheet, col)
			if err != nil {
				return nil, fmt.Errorf("read %s of %s: %w", key, path, err)
			}
			set[series.ID("eia."+key)] = points
		}
	}
	if len(set) != len(keys) {
		return nil, fmt.Errorf("%s holds %d of the series %v", path, len(set), keys)
	}
	return set, nil
}

func readColumn(sheet *xls.WorkSheet, col int) ([]series.Point, error) {
	var points []series.Point
	for r := 3; r < int(sheet.MaxRow); r++ { // the library's MaxRow is one past the end
		row := sheet.Row(r)
		if row == nil || strings.TrimSpace(row.Col(col)) == "" {
			continue
		}
		day, err := time.Parse(time.RFC3339, row.Col(0))
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", r+1, err)
		}
		value, err := strconv.ParseFloat(row.Col(col), 64)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", r+1, err)
		}
		points = append(points, series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.Add(lag)), Value: value})
	}
	return points, nil
}
