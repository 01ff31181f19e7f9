package forecast

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/series"
)

// Record is a forecast as it is written down before its figure is published, for ever. Every text is part of the line that is hashed.
type Record struct {
	// ID names the forecast, Signal its signal, Figure what is forecast and Period the print's period: "2026-11-20".
	ID, Signal, Figure, Period string
	IssuedAt                   time.Time
	// Quantiles are at Levels, those of the two naive forecasts too.
	Quantiles, Naive1, Naive2 []Decimal
	// ModelVersion names the code and constants that made it; InputsHash is of every value that it read.
	ModelVersion, InputsHash string
	// PreviousHash is the hash of the record before, or NoRecord.
	PreviousHash string
}

// NoRecord stands in for the hash before the first one.
const NoRecord = "0000000000000000000000000000000000000000000000000000000000000000"

// Line is the text whose hash is the record's.
func (r Record) Line() string {
	return strings.Join([]string{
		r.ID, r.Signal, r.Figure + "/" + r.Period, r.IssuedAt.UTC().Format(time.RFC3339),
		joined(r.Quantiles), joined(r.Naive1), joined(r.Naive2), r.ModelVersion, r.InputsHash, r.PreviousHash,
	}, "|")
}

// Hash is the lower-case hex SHA-256 of the line.
func (r Record) Hash() string { return hashOf(r.Line()) }

// Grade is what came of a forecast, in a chain of its own.
type Grade struct {
	ID string
	// Outcome is the figure's first print, empty where none came in time: then there are no scores either, and FlagVoid stands.
	Outcome Decimal
	// PublishedAt is the vintage of the outcome: when it became known, or when it was given up.
	PublishedAt time.Time
	// Scores are exact, of the recorded texts.
	Score, Score1, Score2 Decimal
	Flags                 []string
	PreviousHash          string
}

// The flags of a grade.
const (
	// FlagVoid: no print came within the time that the target allows. It is listed and does not count.
	FlagVoid = "void"
	// FlagVintageBreak: the release changed earlier values by over 5 %. It counts all the same.
	FlagVintageBreak = "vintage_break"
)

// Line is the text whose hash is the grade's.
func (g Grade) Line() string {
	return strings.Join([]string{
		g.ID, string(g.Outcome), g.PublishedAt.UTC().Format(time.RFC3339), string(g.Score), string(g.Score1), string(g.Score2),
		strings.Join(g.Flags, ","), g.PreviousHash,
	}, "|")
}

// Hash is the lower-case hex SHA-256 of the line.
func (g Grade) Hash() string { return hashOf(g.Line()) }

// NewGrade scores a record by its outcome.
func NewGrade(r Record, outcome Decimal, publishedAt time.Time, flags []string) (Grade, error) {
	g := Grade{ID: r.ID, Outcome: outcome, PublishedAt: publishedAt, Flags: flags}
	for _, s := range []struct {
		to        *Decimal
		quantiles []Decimal
	}{{&g.Score, r.Quantiles}, {&g.Score1, r.Naive1}, {&g.Score2, r.Naive2}} {
		var err error
		if *s.to, err = Score(s.quantiles, outcome); err != nil {
			return Grade{}, fmt.Errorf("grade %s: %w", r.ID, err)
		}
	}
	return g, nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func joined(list []Decimal) string {
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = string(d)
	}
	return strings.Join(texts, ";")
}

// inputsHash is the lower-case hex SHA-256 of the sorted lines "series|observed_at|vintage_at|value\n" of every value that a forecast read,
// the times in RFC 3339 and UTC, the value with as few digits as give it back.
func inputsHash(in series.Set, ids []series.ID) string {
	ids = slices.Sorted(slices.Values(ids))
	sum := sha256.New()
	for _, id := range ids {
		lines := make([]string, 0, len(in[id]))
		for _, p := range in[id] {
			lines = append(lines, string(id)+"|"+p.ObservedAt.UTC().Format(time.RFC3339Nano)+"|"+p.VintageAt.UTC().Format(time.RFC3339Nano)+"|"+
				strconv.FormatFloat(p.Value, 'g', -1, 64)+"\n")
		}
		slices.Sort(lines)
		for _, line := range lines {
			_, _ = io.WriteString(sum, line) // a hash takes everything
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
