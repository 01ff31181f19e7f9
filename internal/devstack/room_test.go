package devstack

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestAFullDiskIsSaidOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &Stack{log: slog.New(slog.NewTextHandler(&out, nil))}
	full := false
	for _, c := range []struct {
		room uint64
		want string
	}{
		{1 << 30, ""},
		{1 << 20, "the disk is full, make room"},
		{0, ""},
		{minRoom, ""}, // not at once
		{1 << 30, "the disk has room again"},
		{1 << 30, ""},
		{1 << 20, "the disk is full, make room"},
	} {
		out.Reset()
		full = s.noteRoom(t.Context(), "/srv/t", c.room, full)
		if got := out.String(); (c.want == "") != (got == "") || !strings.Contains(got, c.want) || got != "" && !strings.Contains(got, "folder=/srv/t") {
			t.Errorf("with %d bytes left it says %q, want %q", c.room, got, c.want)
		}
	}
}
