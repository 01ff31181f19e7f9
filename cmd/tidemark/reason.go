package main

import (
	"errors"
	"strings"
)

// reason is why somebody did something, which is kept with it: a text that says something.
type reason string

// UnmarshalText takes a text without the blanks around it, and refuses one that is empty then.
func (r *reason) UnmarshalText(text []byte) error {
	*r = reason(strings.TrimSpace(string(text)))
	if *r == "" {
		return errors.New("it is empty: say why, it is kept")
	}
	return nil
}
