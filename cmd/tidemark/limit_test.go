package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// commandsWithLimit returns the command lines of all commands that have the flag --limit, and the type of each flag.
func commandsWithLimit(of reflect.Type, line []string) (lines [][]string, types []reflect.Type) {
	for f := range of.Fields() {
		switch _, command := f.Tag.Lookup("cmd"); {
		case command:
			name := f.Tag.Get("name")
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			l, t := commandsWithLimit(f.Type, append(slices.Clip(line), name))
			lines, types = append(lines, l...), append(types, t...)
		case f.Name == "Limit":
			lines, types = append(lines, line), append(types, f.Type)
		}
	}
	return lines, types
}

func TestALimitIsAWholeNumberFromOneOnInEveryCommand(t *testing.T) {
	t.Parallel()
	lines, types := commandsWithLimit(reflect.TypeFor[commands](), nil)
	if len(lines) < 12 {
		t.Fatalf("only %v have the flag", lines)
	}
	for i, line := range lines {
		if types[i] != reflect.TypeFor[limit]() {
			t.Errorf("%v: --limit is a %s", line, types[i])
		}
		for _, bad := range []string{"-4", "0", "x", "1.5", "99999999999999999999"} {
			code, out := told(t, append(line, "--limit="+bad)...)
			if code != 2 || !strings.Contains(out, fmt.Sprintf("--limit: %q is not a whole number from 1 to 1000000", bad)) {
				t.Errorf("%v --limit=%s: exit %d: %s", line, bad, code, out)
			}
		}
	}
}
