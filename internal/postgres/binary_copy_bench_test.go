package postgres

import (
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
	"tidemark/signals"
)

// BenchmarkTrackIsStaged compares what binaryCopy buys for a track of 40 years: the same rows by binaryCopy, and by the driver's CopyFrom.
func BenchmarkTrackIsStaged(b *testing.B) {
	pool, err := pgxpool.New(b.Context(), pgtest.New(b))
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	c, err := pool.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Release()
	track := make(signals.Track, 14_610)
	from := time.Date(1986, time.January, 1, 0, 0, 0, 0, time.UTC)
	for i := range track {
		at, v := from.AddDate(0, 0, i), float64(i%97)/7
		track[i] = signals.Estimate{ObservedAt: at, KnownAt: at.AddDate(0, 0, 1), Value: v, Lo: v - 1, Hi: v + 1, Baseline: v / 2, Scale: 3, N: 150}
	}
	columns := []string{"observed_at", "value", "lo", "hi", "baseline", "scale", "n", "z_score", "delta_pct", "input_known_at"}
	b.Run("binaryCopy", func(b *testing.B) {
		defer ownTime(b)()
		for b.Loop() {
			if err := stageTrack(b.Context(), c, track); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("CopyFrom", func(b *testing.B) {
		defer ownTime(b)()
		for b.Loop() {
			if _, err := c.Exec(b.Context(), stageTrackSQL); err != nil {
				b.Fatal(err)
			}
			_, err := c.Conn().CopyFrom(b.Context(), pgx.Identifier{"stage_track"}, columns, pgx.CopyFromSlice(len(track), func(i int) ([]any, error) {
				e := &track[i]
				return []any{e.ObservedAt, e.Value, e.Lo, e.Hi, e.Baseline, e.Scale, e.N, e.Z(), e.DeltaPct(), e.KnownAt}, nil
			}))
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// ownTime reports this process's processor time of an operation, without the server's.
func ownTime(b *testing.B) (report func()) {
	b.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := used()
	return func() { b.ReportMetric(float64((used()-began).Nanoseconds())/float64(b.N), "own-ns/op") }
}
