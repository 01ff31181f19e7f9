package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// SetColdStore sets the colder store: MoveCold moves bodies there, and Get reads bodies there that are not here. New bodies are only put
// here. Close also closes that store. SetColdStore must be called before the store is used.
func (s *Store) SetColdStore(colder *Store) { s.colder = colder }

// ColdStore returns the store that SetColdStore named, or nil.
func (s *Store) ColdStore() *Store { return s.colder }

// ErrNoColdStore is the error of a store that has no colder one.
var ErrNoColdStore = errors.New("no cold archive is set")

// ColdResult is the result of MoveCold.
type ColdResult struct {
	// Bodies were moved, and took that many bytes here.
	Bodies int
	Bytes  int64
}

// maxLists is how often a folder is listed again because another worker moved a body of it meanwhile.
const maxLists = 100

// MoveCold moves every body that was written here before an instant to the colder store. It removes a body here once it is intact there, so
// that a reader finds it at any moment. If the process is killed in between, it has only made a copy, and the next MoveCold continues. A
// body that is broken here stays; the others are moved first, and then it is the error. The folder or the bucket reports the write time of
// a body. A body that is archived again after its move is written here again, and moved again later.
func (s *Store) MoveCold(ctx context.Context, before time.Time) (done ColdResult, err error) {
	if s.colder == nil {
		return done, ErrNoColdStore
	}
	if err := s.Prove(ctx); err != nil {
		return done, err
	}
	var broken error
	for first := range 256 { // a folder at a time: the driver of folders reads all that is below the prefix for each page of a list
		folder := &blob.ListOptions{Prefix: fmt.Sprintf("blobs/%02x/", first)}
		list, again := s.bucket.List(folder), 0
		for {
			o, err := list.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if gcerrors.Code(err) == gcerrors.NotFound && again < maxLists {
				list, again = s.bucket.List(folder), again+1 // another worker has moved what was about to be listed
				continue
			}
			if err != nil {
				return done, fmt.Errorf("list the archive: %w", err)
			}
			digest := strings.TrimSuffix(path.Base(o.Key), gzipExt)
			if !o.ModTime.Before(before) || !digestForm.MatchString(digest) {
				continue // a file left by a killed writer is not a body
			}
			moved, err := s.cool(ctx, o.Key, digest)
			switch {
			case err != nil && ctx.Err() == nil && errors.Is(err, errBroken):
				broken = errors.Join(broken, err)
			case err != nil:
				return done, err
			case moved:
				done.Bodies++
				done.Bytes += o.Size
			}
		}
	}
	return done, broken
}

// errBroken is the error of a stored body that does not have its digest.
var errBroken = errors.New("it is corrupt and is not moved")

// cool moves one body. It returns false where another worker has just moved it.
func (s *Store) cool(ctx context.Context, key, digest string) (bool, error) {
	stored, err := s.bucket.ReadAll(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the archived %s: %w", key, err)
	}
	body, err := decompress(key, stored)
	if err != nil || digestOf(body) != digest {
		return false, fmt.Errorf("move %s to the colder archive: %w", key, errBroken)
	}
	if _, err := s.colder.Put(ctx, body); err != nil {
		return false, fmt.Errorf("move %s to the colder archive: %w", key, err)
	}
	err = s.bucket.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove %s, which the colder archive has: %w", key, err)
	}
	return true, nil
}
