package signals

import (
	"slices"
	"time"
)

// Annotation is an event of the reviewed list that plots of signals are annotated with. It was read in its source before it was added. It
// states what happened and when, never that it moved a signal. Its sentences are in the folders of the languages (locale.Language, Annotations).
type Annotation struct {
	// ID is stable: addresses contain it.
	ID string
	// Day is the day of the event, at midnight UTC.
	Day time.Time
	// Signals are the ids of the signals whose plots show it.
	Signals []string
	// Source is the URL of a report of the event.
	Source string
}

// AnnotationsOf returns the annotations of a signal between two instants, both included, in ascending time.
func AnnotationsOf(signal string, from, to time.Time) []Annotation {
	var out []Annotation
	for _, a := range Annotations() {
		if slices.Contains(a.Signals, signal) && !a.Day.Before(from.UTC().Truncate(24*time.Hour)) && !a.Day.After(to) {
			out = append(out, a)
		}
	}
	return out
}

func eventDay(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}
