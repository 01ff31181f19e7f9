package gitledger

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// FuzzObjects: git's output about a foreign repository, with its files and names, is either read or rejected.
func FuzzObjects(f *testing.F) {
	f.Add([]byte("0123456789012345678901234567890123456789 blob 3\nabc\n"), "main")
	f.Add([]byte("x blob 9999999999999\nabc\n"), "refs/../../config")
	f.Add([]byte("x blob -1\n"), "-upload-pack=id")
	f.Fuzz(func(t *testing.T, out []byte, name string) {
		if content, err := readObject(bufio.NewReader(bytes.NewReader(out))); err == nil && len(content) > len(out) {
			t.Errorf("%d bytes of %d", len(content), len(out))
		}
		_ = objectID(name)
		if checkBranch(name) == nil && (strings.HasPrefix(name, "-") || strings.Contains(name, "..") || strings.HasPrefix(name, "/") || strings.ContainsAny(name, " \n\x00:")) {
			t.Errorf("%q is the name of a branch", name)
		}
		if folder, ok := LocalPath(name); ok && strings.Contains(folder, "://") && !strings.HasPrefix(name, "file://") && !strings.HasPrefix(name, "/") {
			t.Errorf("%q is a folder", name)
		}
		w := walker{record: &Record{}, files: map[string][]byte{}, ids: map[string]string{}}
		_ = w.meta(0, out)
		s := newState("")
		for _, path := range recordPaths {
			_ = s.parse(path, out)
		}
	})
}
