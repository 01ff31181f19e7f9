package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"
)

// The files in the root of an archive by which a start tells it from the empty place where it should be. coldMarker stands in the root of an
// archive that has a colder one, whose own root has a marker then.
const (
	Marker     = "tidemark-archive.json"
	coldMarker = "tidemark-archive-cold.json"
	markerText = `{"format":"tidemark-archive-root","version":1}` + "\n"
)

// LostError tells that an archive is not where it should be: nothing of it is there.
type LostError struct {
	// Cold tells that it is the colder one.
	Cold bool
}

func (e *LostError) Error() string {
	if e.Cold {
		return "there is nothing of the colder archive: no " + Marker + ", although the archive has had one. Is its disk mounted?"
	}
	return "there is nothing of the archive that the database names: neither " + Marker + " nor any of the newest bodies. Is its disk mounted?"
}

// proof is what is known of the identity of a store.
type proof struct {
	mu sync.Mutex
	// wanted tells that it is asked for, newest are bodies of which the archive has some, done that it is what it should be.
	wanted, done bool
	newest       []string
}

// OpenHeld opens the archive of a database that names the bodies with those digests, the newest, or (none) none yet. An archive without a
// marker gets one where it is new, or has one of the bodies; else a *LostError comes of Prove, Reach and Put, and a folder that is not there is
// not made. The place is asked at Prove, not here.
func OpenHeld(ctx context.Context, location string, newest []string) (*Store, error) {
	s, err := openAt(ctx, location, len(newest) == 0)
	if err != nil {
		return nil, err
	}
	s.proof.wanted, s.proof.newest = !strings.HasPrefix(location, memblob.Scheme+"://"), newest // in memory nothing stays from one start to the next
	return s, nil
}

// OpenCold opens the colder archive and sets it. A folder that is not there is made, unless the archive has had a colder one.
func (s *Store) OpenCold(ctx context.Context, location string) error {
	had, err := s.holds(ctx, coldMarker)
	colder, lost := openAt(ctx, location, !had && err == nil)
	switch {
	case lost == nil:
		s.SetColdStore(colder)
		return nil
	case errors.As(lost, new(*LostError)):
		return errors.Join(err, &LostError{Cold: true})
	}
	return lost
}

// Prove tells whether the archive is the one that the database names, and the colder one the one that it has had. It asks once.
func (s *Store) Prove(ctx context.Context) error {
	s.proof.mu.Lock()
	defer s.proof.mu.Unlock()
	if !s.proof.wanted || s.proof.done {
		return nil
	}
	marked, err := s.holds(ctx, Marker)
	if err != nil {
		return err
	}
	if !marked {
		if err := s.adopt(ctx); err != nil {
			return err
		}
	}
	if err := s.proveCold(ctx); err != nil {
		return err
	}
	s.proof.done = true
	return nil
}

// adopt marks an archive that has no marker: a new one, or one of an earlier version, which has bodies. Of the latter the bodies are proof enough
// where the marker cannot be written.
func (s *Store) adopt(ctx context.Context) error {
	if len(s.proof.newest) > 0 {
		there, err := s.hasOne(ctx, s.proof.newest)
		if err != nil {
			return err
		}
		if !there {
			return &LostError{}
		}
	}
	if err := s.write(ctx, Marker, []byte(markerText)); err != nil && len(s.proof.newest) == 0 {
		return fmt.Errorf("mark the archive: %w", err)
	}
	return nil
}

// proveCold is Prove of the colder archive.
func (s *Store) proveCold(ctx context.Context) error {
	if s.colder == nil {
		return nil
	}
	marked, err := s.colder.holds(ctx, Marker)
	if err != nil {
		return err
	}
	had, err := s.holds(ctx, coldMarker)
	switch {
	case err != nil:
		return err
	case had && !marked:
		return &LostError{Cold: true}
	case had:
		return nil
	}
	if !marked {
		err = s.colder.write(ctx, Marker, []byte(markerText))
	}
	if err != nil {
		return fmt.Errorf("mark the colder archive: %w", err)
	}
	return s.write(ctx, coldMarker, []byte(markerText))
}

// Begin marks the archive, and the colder one, as those that are used from now on, whatever they hold.
func (s *Store) Begin(ctx context.Context) error {
	for at := s; at != nil; at = at.colder {
		if err := at.write(ctx, Marker, []byte(markerText)); err != nil {
			return fmt.Errorf("mark the archive: %w", err)
		}
	}
	return nil
}

// holds tells whether a file stands in the root.
func (s *Store) holds(ctx context.Context, name string) (bool, error) {
	if err := s.present(); err != nil {
		return false, err
	}
	_, err := s.bucket.ReadAll(ctx, name)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s of the archive: %w", name, err)
	}
	return true, nil
}

// hasOne tells whether one of some bodies is here, whole.
func (s *Store) hasOne(ctx context.Context, digests []string) (bool, error) {
	for _, d := range digests {
		if _, err := s.get(ctx, d); !Missing(err) {
			return err == nil, err
		}
	}
	return false, nil
}
