package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that starts while the archive's disk is not mounted reports that and makes no folder. The repairs in its message work.
func TestAnArchiveThatIsLostIsNamedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.quarantine(90)
	archive := l.folder
	l.folder = filepath.Join(t.TempDir(), "mount", "archive")
	for _, args := range [][]string{{"archive", "export", filepath.Join(t.TempDir(), "out")}, {"reparse"}, {"quarantine", "accept", "1", "--reason=true"}, {"explain", "crack-spread-321"}} {
		code, out, complaint := l.run(args...)
		for _, say := range []string{"ARCHIVE_URL (" + l.folder + ")", "is its disk mounted?", "tidemark archive begin"} {
			if code == 0 || !strings.Contains(strings.ToLower(complaint), strings.ToLower(say)) {
				t.Errorf("%v: exit %d, lacks %q\n%s%s", args, code, say, out, complaint)
			}
		}
	}
	if _, err := os.Stat(filepath.Dir(l.folder)); err == nil {
		t.Error("the folder was made")
	}
	_, out, _ := l.run("doctor")
	if !strings.Contains(out, "Is its disk mounted?") {
		t.Errorf("the doctor does not name it:\n%s", out)
	}
	begun := l.folder
	l.folder = archive
	if code, out, complaint := l.run("archive", "begin"); code != 0 || !strings.Contains(out, "nothing was done") {
		t.Errorf("begun over the archive: exit %d\n%s%s", code, out, complaint)
	}
	if _, err := os.Stat(filepath.Join(archive, "tidemark-archive.json")); err != nil {
		t.Errorf("an archive that is there is not marked: %v", err)
	}
	l.folder = begun
	if code, out, complaint := l.run("archive", "begin"); code != 0 || !strings.Contains(out, "from now on") {
		t.Errorf("exit %d\n%s%s", code, out, complaint)
	}
	if code, out, complaint := l.run("archive", "begin"); code != 0 || !strings.Contains(out, "nothing was done") {
		t.Errorf("begun twice: exit %d\n%s%s", code, out, complaint)
	}
}
