package postgres

import (
	"time"

	"tidemark/internal/series"
)

// loadGroup is a range of loads that can be compared with the stored data in one step: no two of them say anything about the same value.
// The pages of a long response form one group. A load that repeats values of an earlier load, or is older, begins the next group. That
// group sees the rows of the first one as stored.
type loadGroup struct {
	loadRange

	extents map[series.ID]*extent
}

// extent is the part of one series that some loads contain: the span of their readings, the span of their windows, and the time of the
// newest fetch.
type extent struct {
	readings, covers span
	fetchedAt        time.Time
}

// span is a range of time, both ends included. The zero value is empty; open ends are the first and last instants.
type span struct {
	some       bool
	begin, end int64
}

const firstInstant, lastInstant = -1 << 63, 1<<63 - 1

func (s span) meets(o span) bool { return s.some && o.some && s.begin <= o.end && o.begin <= s.end }

func (s *span) add(begin, end int64) {
	if !s.some {
		*s = span{true, begin, end}
		return
	}
	s.begin, s.end = min(s.begin, begin), max(s.end, end)
}

// extents returns the extents of a load.
func extents(l Load) map[series.ID]*extent {
	m := map[series.ID]*extent{}
	var id series.ID
	var e *extent
	of := func(s series.ID) *extent {
		if e == nil || s != id {
			if e = m[s]; e == nil {
				e = &extent{fetchedAt: l.FetchedAt}
				m[s] = e
			}
			id = s
		}
		return e
	}
	for _, r := range l.Readings {
		at := r.ObservedAt.UnixMicro()
		of(r.Series).readings.add(at, at)
	}
	for _, c := range l.Covers {
		begin, end := int64(firstInstant), int64(lastInstant)
		if !c.Window.From.IsZero() {
			begin = c.Window.From.UnixMicro()
		}
		if !c.Window.To.IsZero() {
			end = c.Window.To.UnixMicro()
		}
		of(c.Series).covers.add(begin, end)
	}
	return m
}

// takes adds a load to the group unless it overlaps the group, and reports whether it did.
func (g *loadGroup) takes(m map[series.ID]*extent) bool {
	for id, e := range m {
		have := g.extents[id]
		if have == nil {
			continue
		}
		if e.readings.meets(have.readings) || e.readings.meets(have.covers) || e.covers.meets(have.readings) ||
			e.fetchedAt.Before(have.fetchedAt) {
			return false
		}
	}
	for id, e := range m {
		have := g.extents[id]
		if have == nil {
			g.extents[id] = e
			continue
		}
		have.fetchedAt = e.fetchedAt
		if e.readings.some {
			have.readings.add(e.readings.begin, e.readings.end)
		}
		if e.covers.some {
			have.covers.add(e.covers.begin, e.covers.end)
		}
	}
	g.to++
	return true
}

func group(loads []Load) []loadGroup {
	var groups []loadGroup
	for i, l := range loads {
		m := extents(l)
		if n := len(groups); n > 0 && groups[n-1].takes(m) {
			continue
		}
		groups = append(groups, loadGroup{loadRange{i, i + 1}, m})
	}
	return groups
}

// bounds returns, for each series of the group, the range of time that its loads cover. A nil end is open.
func (g loadGroup) bounds() (ids []string, from, to []*time.Time) {
	instant := func(micros, open int64) *time.Time {
		if micros == open {
			return nil
		}
		return new(time.UnixMicro(micros))
	}
	for id, e := range g.extents {
		all := e.readings
		if e.covers.some {
			all.add(e.covers.begin, e.covers.end)
		}
		if !all.some {
			continue
		}
		ids = append(ids, string(id))
		from, to = append(from, instant(all.begin, firstInstant)), append(to, instant(all.end, lastInstant))
	}
	return ids, from, to
}
