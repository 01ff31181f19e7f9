package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"gocloud.dev/blob/fileblob"
)

// trialKey is the name of the trial file. It is next to the bodies, where a write needs the same rights. It is not a body: nothing else reads it.
const trialKey = "blobs/00/tidemark-trial"

// trialSize is the size of the trial file in bytes: more than a full disk has left over in a started block.
const trialSize = 64 << 10

// Try writes a new trial file to the archive, in the place of the last one, and reads it again. The error says which of the two failed.
func (s *Store) Try(ctx context.Context) (write, read error) {
	if err := s.Prove(ctx); err != nil {
		return err, nil
	}
	content := make([]byte, trialSize)
	_, _ = rand.Read(content) // it never fails
	// The file says its own digest: several may try at the same time, and each may read what another has written.
	content = append([]byte(digestOf(content)+"\n"), content...)
	if err := s.write(ctx, trialKey, content); err != nil {
		return err, nil
	}
	got, err := s.bucket.ReadAll(ctx, trialKey)
	if err != nil {
		return nil, err
	}
	digest, rest, ok := bytes.Cut(got, []byte("\n"))
	if !ok || len(digest) != hex.EncodedLen(32) || digestOf(rest) != string(digest) {
		return nil, errors.New("it is not what was written")
	}
	return nil, nil
}

// LocalFolder returns the folder of a location that is one: a path, or a file:// URL. It is empty for a bucket elsewhere.
func LocalFolder(location string) (string, error) {
	scheme, rest, isURL := strings.Cut(location, "://")
	if !isURL {
		return location, nil
	}
	if scheme != fileblob.Scheme {
		return "", nil
	}
	if strings.Contains(rest, "?") { // the library reads it
		u, err := url.Parse(location)
		if err != nil {
			return "", fmt.Errorf("open the archive %s: %w", location, err)
		}
		rest = u.Host + u.Path
	}
	if relative, ok := strings.CutPrefix(rest, "./"); ok {
		return filepath.FromSlash(relative), nil
	}
	if path, ok := strings.CutPrefix(rest, "localhost/"); ok {
		rest = "/" + path
	}
	if !strings.HasPrefix(rest, "/") {
		return "", fmt.Errorf("open the archive %s: expected file:///absolute/path or file://./relative/path", location)
	}
	return filepath.FromSlash(rest), nil
}
