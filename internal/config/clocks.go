package config

import (
	"errors"
	"fmt"
	"time"
)

// Clocks are the daily clock times of the record in New York, as time since midnight.
type Clocks struct{ Pick, Cutoff, Announce time.Duration }

// lastClose is the clock time in New York when the exchange closes on a full day.
const lastClose = 16 * time.Hour

// Clocks returns the clock times of the record. The error reports every invalid time, each with the setting's name.
func (s Settings) Clocks() (Clocks, error) {
	var c Clocks
	var errs []error
	for _, one := range []struct {
		name, value string
		zero        time.Duration
		to          *time.Duration
	}{
		{"PICK_AT", s.PickAt, 17*time.Hour + 30*time.Minute, &c.Pick},
		{"PICK_CUTOFF", s.PickCutoff, 22 * time.Hour, &c.Cutoff},
		{"ANNOUNCE_AT", s.AnnounceAt, 18 * time.Hour, &c.Announce},
	} {
		*one.to = one.zero
		if one.value == "" {
			continue
		}
		at, err := time.Parse("15:04", one.value)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %q is not a clock time like 17:30", one.name, one.value))
			continue
		}
		*one.to = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	if len(errs) == 0 {
		if c.Pick < lastClose {
			errs = append(errs, fmt.Errorf("PICK_AT: %s is before 16:00, when the exchange closes", s.PickAt))
		}
		if c.Announce < c.Pick {
			errs = append(errs, fmt.Errorf("ANNOUNCE_AT: %s is before the pick is made (PICK_AT)", s.AnnounceAt))
		}
		if c.Cutoff < c.Pick {
			errs = append(errs, fmt.Errorf("PICK_CUTOFF: %s is before the pick is made (PICK_AT)", s.PickCutoff))
		}
	}
	return c, errors.Join(errs...)
}
