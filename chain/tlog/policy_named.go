package tlog

import (
	"fmt"
	"strings"
)

// NamedWitness is a witness as the operator of a log names it.
type NamedWitness struct {
	Name string `json:"name"`
	VKey string `json:"vkey"`
}

// maxNamed bounds the witnesses that a server can name.
const maxNamed = 64

// NamedPolicy is the policy of a reader who has none: the key and the witnesses that a server names, and more than half of these as the quorum.
// It is not evidence, because a server can name witnesses that it runs.
func NamedPolicy(vkey string, witnesses []NamedWitness) (*Policy, error) {
	if len(witnesses) > maxNamed {
		return nil, fmt.Errorf("the server names %d witnesses, at most %d are read", len(witnesses), maxNamed)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "log %s\n", vkey)
	var names []string
	for _, w := range witnesses {
		fmt.Fprintf(&text, "witness %s %s\n", w.Name, w.VKey)
		names = append(names, w.Name)
	}
	if len(names) == 0 {
		text.WriteString("quorum none\n")
	} else {
		fmt.Fprintf(&text, "group half %d %s\nquorum half\n", len(names)/2+1, strings.Join(names, " "))
	}
	p, err := ParsePolicy([]byte(text.String()))
	if err != nil {
		return nil, fmt.Errorf("the log and the witnesses that the server names: %w", err)
	}
	return p, nil
}
