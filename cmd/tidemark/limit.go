package main

import (
	"fmt"
	"strconv"
)

// limit is how many rows a command prints: from 1 to maxLimit. All flags named --limit have this type.
type limit int

const maxLimit = 1_000_000

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *limit) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > maxLimit {
		return fmt.Errorf("%.40q is not a whole number from 1 to %d", text, maxLimit)
	}
	*l = limit(n)
	return nil
}
