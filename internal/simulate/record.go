package simulate

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/calendar"
)

//go:embed record.sql
var recordSQL string

// MakeUpRecord fills a database without a record with n fictitious picks, one per trading day before a day. The last of these days
// must have closing prices. If prices do not go back as far as the record, each company has its first close until then. The hash chain is
// valid, but the companies and the texts are fictitious. The connection must be a superuser's, because the database rejects picks of past
// days.
func MakeUpRecord(ctx context.Context, c *pgx.Conn, n int, before time.Time) error {
	days := make([]string, n)
	day := before
	for i := range slices.Backward(days) {
		if day = calendar.Previous(day); day.IsZero() {
			return errors.New("make up a record: the calendar does not go back so far")
		}
		days[i] = day.Format(time.DateOnly)
	}
	err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, recordSQL); err != nil {
			return err
		}
		var picked int
		if err := tx.QueryRow(ctx, `select count(*) from picks`).Scan(&picked); err != nil || picked > 0 {
			return errors.Join(err, fmt.Errorf("there are %d picks already", picked))
		}
		if n == 0 {
			return nil
		}
		_, err := tx.Exec(ctx, `select pg_temp.make_up_record($1)`, days)
		return err
	})
	if err != nil {
		return fmt.Errorf("make up a record: %w", err)
	}
	return nil
}
