package signals

import (
	"slices"
	"time"
)

// Annotation is an event of the reviewed list that plots of signals are annotated with. It was read in its source before it was added. It
// states what happened and when, never that it moved a signal.
type Annotation struct {
	// ID is stable: addresses contain it.
	ID string
	// Day is the day of the event, at midnight UTC.
	Day time.Time
	// Signals are the ids of the signals whose plots show it.
	Signals []string
	// Text is one sentence by language code. Every language of the program at the time of the entry is there, English always.
	Text map[string]string
	// Source is the URL of a report of the event.
	Source string
}

// In returns the sentence in a language, in English if the entry does not have that language.
func (a Annotation) In(lang string) (text, in string) {
	if text = a.Text[lang]; text != "" {
		return text, lang
	}
	return a.Text["en"], "en"
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
