package main

import (
	"errors"
	"strings"
)

// reason is an operator's reason for a change, which is stored with the change. It is never empty.
type reason string

// UnmarshalText trims the text, and rejects an empty one.
func (r *reason) UnmarshalText(text []byte) error {
	*r = reason(strings.TrimSpace(string(text)))
	if *r == "" {
		return errors.New("it is empty: say why, it is kept")
	}
	return nil
}
