package witness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"tidemark/chain/tlog"
)

// Server cosigns checkpoints of the logs that its folder names. It refuses checkpoints that do not continue its last cosigned one. It stops
// if one of its lines shows that its state is older than its signatures. It is safe for concurrent use.
type Server struct {
	dir  string
	key  *tlog.Cosigner
	lock *os.File
	now  func() time.Time
	log  *slog.Logger
	logs map[string]*state
	sync bool
}

// state is a witness's state of a log.
type state struct {
	header header
	// accepted are the verifiers of the accepted keys, all also the verifiers of earlier keys.
	accepted, all []note.Verifier

	mu   sync.Mutex
	size int64
	root tlog.Hash
	// at is the time of the last line: times never fall.
	at time.Time
	// note is the last cosigned checkpoint, with the witness's line alone.
	note []byte
	// stopped says why it cosigns no more, nil: it does.
	stopped error
}

// Open opens the witness of a folder. It needs the state of every log that the witness ever knew.
func Open(dir string, now func() time.Time, log *slog.Logger) (*Server, error) {
	key, origins, err := readKey(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, key: key, now: now, log: log, logs: map[string]*state{}, sync: true}
	if s.lock, err = lock(dir); err != nil {
		return nil, err
	}
	for _, origin := range origins {
		if s.logs[origin], err = readLog(dir, origin, key); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// DisableSync makes the witness fast and lets a crash of the machine take its state: for sandboxes and tests.
func (s *Server) DisableSync() { s.sync = false }

// Close lets another process have the folder.
func (s *Server) Close() error { return s.lock.Close() }

// VKey is the witness's public key, Logs the origins that it knows.
func (s *Server) VKey() string { return s.key.VKey() }

// Name is the witness's name.
func (s *Server) Name() string { return s.key.Name() }

// Logs are the origins that the witness knows.
func (s *Server) Logs() (origins []string) {
	for origin := range s.logs {
		origins = append(origins, origin)
	}
	return origins
}

// Stopped returns the reason why the witness no longer cosigns a log; nil if it does.
func (s *Server) Stopped(origin string) error {
	l := s.logs[origin]
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// ServeHTTP answers POST /add-checkpoint, and GET /<hex SHA-256 of an origin>/checkpoint.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/add-checkpoint":
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			refuse(w, http.StatusBadRequest, "the request is too long or was cut off")
			return
		}
		s.add(r.Context(), w, body)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		for origin, l := range s.logs {
			if r.URL.Path == "/"+logID(origin)+"/checkpoint" {
				l.mu.Lock()
				text := l.note
				l.mu.Unlock()
				if len(text) > 0 {
					_, _ = w.Write(text)
					return
				}
			}
		}
		refuse(w, http.StatusNotFound, "no checkpoint of this log was cosigned")
	default:
		refuse(w, http.StatusNotFound, "POST /add-checkpoint, or GET a log's checkpoint")
	}
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, why)
}

func (s *Server) add(ctx context.Context, w http.ResponseWriter, body []byte) {
	req, err := parseAdd(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	origin, _, _ := strings.Cut(string(req.checkpoint), "\n")
	l := s.logs[origin]
	if l == nil {
		refuse(w, http.StatusNotFound, "this log is not known here")
		return
	}
	o, err := tlog.OpenAny(req.checkpoint, l.accepted)
	if err != nil {
		refuse(w, http.StatusForbidden, "the checkpoint is not signed by the log")
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := s.check(l, req.checkpoint); err != nil {
		s.log.ErrorContext(ctx, "the witness stops", "log", origin, "err", err)
		refuse(w, http.StatusInternalServerError, "this witness has stopped")
		return
	}
	switch {
	case req.old > o.Size:
		refuse(w, http.StatusBadRequest, "the old size is above the checkpoint's")
	case req.old != l.size:
		w.Header().Set("Content-Type", typeSize)
		w.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprintln(w, l.size)
	case tlog.CheckConsistency(req.proof, o.Size, o.Root, l.size, l.root) != nil:
		s.keep(ctx, origin, l, body)
		refuse(w, http.StatusUnprocessableEntity, "the checkpoint does not continue the last one")
	default:
		text, err := s.cosign(l, o)
		if err != nil {
			s.log.ErrorContext(ctx, "the witness cannot cosign", "log", origin, "err", err)
			refuse(w, http.StatusInternalServerError, "the checkpoint cannot be kept")
			return
		}
		_, _ = io.WriteString(w, text)
	}
}

// check stops the witness if a checkpoint carries a valid line of this witness that its state does not hold: the state was lost or is old.
func (s *Server) check(l *state, checkpoint []byte) error {
	if l.stopped != nil {
		return l.stopped
	}
	o, err := tlog.OpenAny(checkpoint, l.all, s.key)
	if err != nil || len(o.Cosigned) == 0 {
		return nil //nolint:nilerr // a bad line under its name proves nothing
	}
	if o.Size > l.size || o.Size == l.size && o.Root != l.root {
		l.stopped = fmt.Errorf("%w: it cosigned size %d, and its state has %d", ErrState, o.Size, l.size)
	}
	return l.stopped
}

// Recall compares the state with a checkpoint that others hold, and stops if a line of this witness shows that the state is old.
func (s *Server) Recall(origin string, checkpoint []byte) error {
	l := s.logs[origin]
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.check(l, checkpoint)
}

// cosign keeps a checkpoint and then signs it.
func (s *Server) cosign(l *state, o *tlog.Opened) (text string, err error) {
	at := s.now().UTC().Truncate(time.Second)
	if at.Before(l.at) {
		at = l.at
	}
	body := o.Body()
	if text, err = s.key.Cosign(body, at); err != nil {
		return "", err
	}
	kept := []byte(body + "\n" + logLines(o.Note, l.accepted) + text)
	if err := replaceFile(filepath.Join(s.dir, logFile(o.Origin)), append(l.header.text(), kept...), s.sync); err != nil {
		return "", err
	}
	l.size, l.root, l.at, l.note = o.Size, o.Root, at, kept
	return text, nil
}

// logLines are the signature lines of the log itself in a note that was opened.
func logLines(signed []byte, logs []note.Verifier) string {
	n, err := note.Open(signed, note.VerifierList(logs...))
	if err != nil {
		return ""
	}
	var lines strings.Builder
	for _, sig := range n.Sigs {
		lines.WriteString("— " + sig.Name + " " + sig.Base64 + "\n")
	}
	return lines.String()
}

// keep keeps what was refused although the log signed it: it is evidence.
func (s *Server) keep(ctx context.Context, origin string, l *state, body []byte) {
	s.log.ErrorContext(ctx, "a log offers a checkpoint that does not continue the last one", "log", origin, "size", l.size)
	dir := filepath.Join(s.dir, refusedDir)
	if list, err := os.ReadDir(dir); err != nil || len(list) >= maxRefused {
		return
	}
	name := logID(origin)[:16] + "-" + strconv.FormatInt(l.size, 10) + "-" + logID(string(body))[:16]
	if err := replaceFile(filepath.Join(dir, name), slices.Concat(l.note, body), s.sync); err != nil {
		s.log.ErrorContext(ctx, "a refused checkpoint is not kept", "log", origin, "err", err)
	}
}
