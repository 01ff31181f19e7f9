package base_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"tidemark/chain/base"
)

// errCrash is the error of a store after the simulated death of the process.
var errCrash = errors.New("crashed here")

// store keeps rows in memory, by the contract of base.Store. It can crash at its n-th call: before the change is durable, or after it and
// before the caller gets the result. A crashed store answers nothing more until it is revived, as a dead process would.
type store struct {
	mu    sync.Mutex
	rows  [][]byte // as JSON, so that nothing is shared with a caller
	calls int

	crashAt int // the call that crashes, counted from 1; 0 for never
	after   bool
	dead    bool
	log     []string
}

// revive is the start of the next process.
func (s *store) revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead, s.crashAt, s.calls = false, 0, 0
}

// call counts a call and runs f unless the store crashes before it.
func (s *store) call(name string, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errCrash
	}
	s.calls++
	s.log = append(s.log, name)
	crash := s.calls == s.crashAt
	s.dead = crash
	if crash && !s.after {
		return errCrash
	}
	err := f()
	if crash {
		return errCrash
	}
	return err
}

func (s *store) all() []base.Row {
	var rows []base.Row
	for _, b := range s.rows {
		var r base.Row
		if err := json.Unmarshal(b, &r); err != nil {
			panic(err)
		}
		rows = append(rows, r)
	}
	return rows
}

func (s *store) put(i int, r base.Row) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	if i == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
	s.rows[i] = b
}

func (s *store) Open(context.Context) (open []base.Row, err error) {
	err = s.call("open", func() error {
		for _, r := range s.all() {
			if r.State != base.StateFinal && r.State != base.StateFailed {
				open = append(open, r)
			}
		}
		return nil
	})
	return open, err
}

func (s *store) Attested(context.Context) (newest base.Row, ok bool, err error) {
	err = s.call("attested", func() error {
		for _, r := range s.all() {
			if r.Kind == base.KindAttest && (r.State == base.StateSafe || r.State == base.StateFinal) && r.Length > newest.Length {
				newest, ok = r, true
			}
		}
		return nil
	})
	return newest, ok, err
}

func (s *store) Insert(_ context.Context, r base.Row) (base.Row, error) {
	err := s.call("insert", func() error {
		for _, have := range s.all() {
			if have.Kind == r.Kind && have.Subject == r.Subject {
				return base.ErrExists
			}
		}
		r.ID, r.Version = int64(len(s.rows)+1), 1
		s.put(len(s.rows), r)
		return nil
	})
	return r, err
}

func (s *store) Update(_ context.Context, r base.Row) (base.Row, error) {
	err := s.call("update "+string(r.State), func() error {
		i := slices.IndexFunc(s.all(), func(have base.Row) bool { return have.ID == r.ID && have.Version == r.Version })
		if i < 0 {
			return base.ErrStale
		}
		r.Version++
		s.put(i, r)
		return nil
	})
	return r, err
}

func (s *store) Spent(_ context.Context, day string) (sum int64, err error) {
	err = s.call("spent", func() error {
		for _, r := range s.all() {
			if r.SpentOn == day {
				sum += r.CostWei
			}
		}
		return nil
	})
	return sum, err
}
