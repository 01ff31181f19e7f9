package ingest

import (
	"sync"
	"time"
	_ "time/tzdata" // the rules of the zones, for machines that have none
)

// NewYorkZone is the IANA name of the zone that most publishers' hours and schedules are stated in.
const NewYorkZone = "America/New_York"

var newYork = Zone(NewYorkZone)

// NewYork is the zone NewYorkZone.
func NewYork() *time.Location { return newYork() }

// Zone returns a function that loads the zone of an IANA name on first use. The zones are compiled in: an unknown name panics.
func Zone(name string) func() *time.Location {
	return sync.OnceValue(func() *time.Location {
		zone, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		return zone
	})
}
