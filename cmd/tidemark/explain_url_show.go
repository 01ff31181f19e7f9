package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/api/view"
)

// report writes what was compared: all but the cells of the baseline that agree, which are counted.
func (o *outside) report(out io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(out, struct {
			URL      string         `json:"url"`
			Signal   string         `json:"signal"`
			AsOf     time.Time      `json:"as_of"`
			Observed time.Time      `json:"observed_at"`
			Newest   bool           `json:"newest"`
			OtherDay *view.OtherDay `json:"other_day"`
			Agree    int            `json:"agree"`
			Differ   int            `json:"differ"`
			Withheld int            `json:"withheld"`
			Missing  int            `json:"missing"`
			Compared []comparison   `json:"compared"`
		}{o.reader.Base(), o.def.ID, o.stated.AsOf, *o.stated.ObservedAt, o.stated.Newest, o.stated.OtherDay, o.count("", agrees), o.count("", differ), o.count("", hidden), o.count("", missing), o.found})
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s, observed %s, as of %s", o.def.ID, o.stated.ObservedAt.Format(time.DateOnly), o.stated.AsOf.Format(time.RFC3339))
	if other := o.stated.OtherDay; other != nil {
		line("%s", printable(other.Text))
	}
	if text := o.stated.HistoryText; text != nil {
		line("%s", printable(*text))
	}
	for _, part := range []struct{ of, title string }{
		{"body", "THE BYTES"},
		{"value", "THE OBSERVATIONS OF THE VALUE"},
		{"baseline", "THE OBSERVATIONS OF THE BASELINE"},
		{"interval", "THE OBSERVATIONS OF THE INTERVAL"},
		{"component", "THE OBSERVATIONS OF THE COMPONENTS"},
		{"withdrawn", "TAKEN BACK BY THEIR PUBLISHERS"},
		{"number", "COMPUTED AGAIN"},
		{"record", "THE RECORD OF THE INTERVALS"},
		{"list", "THE LISTS"},
	} {
		if part.of == "withdrawn" && !slices.ContainsFunc(o.found, func(c comparison) bool { return c.Of == part.of }) {
			continue
		}
		line("\n%s", part.title)
		counted := map[string]int{}
		for _, c := range o.found {
			if c.Of != part.of {
				continue
			}
			if slices.Contains([]string{"baseline", "interval", "component"}, part.of) && (c.Status == agrees || c.Status == hidden) {
				counted[c.Status]++
				continue
			}
			status := c.Status
			if status == differ || status == missing {
				status = strings.ToUpper(status)
			}
			line("%s\t%s\t%s", status, printable(c.Name), printable(c.Detail))
		}
		for _, status := range []string{agrees, hidden} {
			if counted[status] > 0 {
				line("%s\t%d observations\t", status, counted[status])
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	verdict := "Everything that could be compared agrees."
	if n := o.count("", differ); n > 0 {
		verdict = fmt.Sprintf("%d comparisons differ.", n)
	} else if n := o.count("", missing); n > 0 {
		verdict = fmt.Sprintf("%d comparisons could not be made.", n)
	}
	if n := o.count("body", hidden); n > 0 {
		verdict += fmt.Sprintf(" %d of %d bodies are kept back by their license: of these only the hash is known, and their observations are the server's word.",
			n, len(o.stated.Bodies))
	}
	_, err := fmt.Fprintf(out, "\n%s %s\n", verdict, notRecomputed)
	return err
}
