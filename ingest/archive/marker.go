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

// At a start, these files in its root distinguish an archive from an empty place. An archive with a colder one has coldMarker in its root,
// and the colder one has Marker in its own.
const (
	Marker     = "tidemark-archive.json"
	coldMarker = "tidemark-archive-cold.json"
	markerText = `{"format":"tidemark-archive-root","version":1}` + "\n"
)

// LostError reports that an archive is not at its location: nothing of it is there.
type LostError struct {
	// Cold reports whether the missing archive is the colder one.
	Cold bool
}

func (e *LostError) Error() string {
	if e.Cold {
		return "there is nothing of the colder archive: no " + Marker + ", although the archive has had one. Is its disk mounted?"
	}
	return "there is nothing of the archive that the database names: neither " + Marker + " nor any of the newest bodies. Is its disk mounted?"
}

// proof is the state of the identity check of a store.
type proof struct {
	mu sync.Mutex
	// wanted reports whether the check is requested, done whether it succeeded. newest are digests of bodies; the archive has at least
	// one of them.
	wanted, done bool
	newest       []string
}

// OpenHeld opens the archive of a database. newest are the digests of the newest bodies that the database names; it is empty if the
// database names none yet. An archive without a marker gets one if it is new or has one of the bodies. Otherwise Prove, Reach and Put
// return a *LostError, and a missing folder is not created. The check runs at Prove, not here.
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

// Prove returns nil if this is the archive that the database names, and its colder archive is still the same. It checks once.
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

// Begin marks the archive and the colder one as in use from now on, regardless of their content.
func (s *Store) Begin(ctx context.Context) error {
	for at := s; at != nil; at = at.colder {
		if err := at.write(ctx, Marker, []byte(markerText)); err != nil {
			return fmt.Errorf("mark the archive: %w", err)
		}
	}
	return nil
}

// holds reports whether the root has a file of this name.
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

// hasOne reports whether at least one of the bodies is stored intact.
func (s *Store) hasOne(ctx context.Context, digests []string) (bool, error) {
	for _, d := range digests {
		if _, err := s.get(ctx, d); !Missing(err) {
			return err == nil, err
		}
	}
	return false, nil
}
