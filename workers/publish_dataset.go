package workers

import (
	"context"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// datasetPause is the shortest time between two data sets of a simulated past, on the wall clock. A sandbox that simulates months in minutes
// makes few. The set of the present is made always: visitors see it until the next day.
const datasetPause = 10 * time.Second

// dataset publishes the data set of the slot's day, as of the slot. A day that has a set keeps it.
func (p Publications) dataset(ctx context.Context, t task.Task) error {
	day := t.Slot.UTC().Format(time.DateOnly)
	skip, err := p.Picks.DB.SkipsDataset(ctx, t.Slot, datasetPause)
	if err != nil {
		return err
	}
	if skip {
		return Skip("a data set was published seconds ago")
	}
	tables, files, err := buildDataset(ctx, p.Picks.DB, p.Signals, t.Slot)
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, table := range tables {
		rows += table.Rows
	}
	if rows == 0 {
		return Skip("there is nothing to publish yet")
	}
	added, err := p.Picks.DB.SaveDataset(ctx, t.Fence, postgres.Dataset{Day: day, AsOf: t.Slot, Tables: tables}, files)
	if err != nil {
		return err
	}
	if added {
		size := 0
		for _, f := range files {
			size += len(f)
		}
		p.Log.InfoContext(ctx, "a data set is published", "at", t.Slot, "date", day, "files", len(tables), "bytes", size)
	}
	return nil
}
