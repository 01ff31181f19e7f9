package ops

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/nearest"
	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// Actions are the actions that operators can take on the pages. Each action is recorded before it begins, with the operator and the reason.
// Its outcome is recorded too.
type Actions struct {
	DB *postgres.DB
	// Token authorizes operators. It is never empty.
	Token string
	// Now is the wall clock.
	Now func() time.Time
	// Accept stores a quarantined answer, and returns the number of added rows. Nil if this process has no archive to read the answer from.
	Accept func(ctx context.Context, id int64, d postgres.Decision) (added int64, err error)
	// Apply applies a plan of a backfill.
	Apply func(ctx context.Context, plan int64) error
}

const (
	// sessionCookie holds the name of the signed-in operator and the expiry. It is signed with the token, so every process with the token
	// accepts it.
	sessionCookie = "tidemark_ops"
	sessionFor    = 12 * time.Hour
	// maxForm limits the size of a posted form.
	maxForm = 64 << 10
)

// refusal is an error of the request, with its status.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// session is the content of the cookie.
type session struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

func (a *Actions) mac(body string) []byte {
	key := sha256.Sum256([]byte("tidemark operators' session " + a.Token))
	h := hmac.New(sha256.New, key[:])
	_, _ = h.Write([]byte(body))
	return h.Sum(nil)
}

func (a *Actions) seal(s session) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text and a time
	}
	body := base64.RawURLEncoding.EncodeToString(b)
	return body + "." + base64.RawURLEncoding.EncodeToString(a.mac(body))
}

// signedIn returns the operator who is signed in with the requesting browser, empty if none is.
func (a *Actions) signedIn(r *http.Request) string {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	body, sum, _ := strings.Cut(c.Value, ".")
	mac, err := base64.RawURLEncoding.DecodeString(sum)
	if err != nil || !hmac.Equal(mac, a.mac(body)) {
		return ""
	}
	b, err := base64.RawURLEncoding.DecodeString(body)
	var s session
	if err != nil || json.Unmarshal(b, &s) != nil || !a.Now().Before(s.Until) {
		return ""
	}
	return s.By
}

// knows reports whether a text is the token.
func (a *Actions) knows(token string) bool {
	given, own := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(a.Token))
	return subtle.ConstantTimeCompare(given[:], own[:]) == 1
}

// fromHere reports whether a form was sent from a page of this listener. Browsers state the origin in a header. A request without it is
// rejected.
func fromHere(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	u, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && u.Host != "" && u.Host == r.Host
}

// operator returns the operator who posts a form: with the token in a header, or signed in and from a page of this listener.
func (a *Actions) operator(r *http.Request) (by string, err error) {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		if !a.knows(strings.TrimSpace(token)) {
			return "", refusal{http.StatusUnauthorized, "The token is not OPS_TOKEN."}
		}
		if by = strings.TrimSpace(r.PostFormValue("by")); by == "" {
			return "", refusal{http.StatusBadRequest, "The field by is empty: it says who does this, and is kept."}
		}
		return by, nil
	}
	if by = a.signedIn(r); by == "" {
		return "", refusal{http.StatusUnauthorized, "Sign in at /session first, or send the header Authorization: Bearer and OPS_TOKEN."}
	}
	if !fromHere(r) {
		return "", refusal{http.StatusForbidden, "This form did not come from a page of this listener."}
	}
	return by, nil
}

// act is an action: its name, and a function that prepares it.
type act struct {
	name string
	// prepare reads the request and returns the subject of the action and the function that does it. A refusal is an error of the request.
	prepare preparation
}

// preparation returns the subject of an action and the function that does it, before the action is recorded.
type preparation func(ctx context.Context, r *http.Request) (subject string, do doing, err error)

// doing does a recorded action and describes its outcome.
type doing func(ctx context.Context, done postgres.Action) (detail string, err error)

// serveActions adds the forms to the pages.
func (s *Server) serveActions(a *Actions) {
	s.mux.HandleFunc("POST /session", s.signIn(a))
	s.mux.HandleFunc("POST /session/end", s.signOut(a))
	for path, one := range map[string]act{
		"/schedule/run":           {postgres.ActionRun, a.run},
		"/schedule/pause":         {postgres.ActionPause, a.pause(true)},
		"/schedule/resume":        {postgres.ActionResume, a.pause(false)},
		"/runs/{id}/retry":        {postgres.ActionRetry, a.retry},
		"/quarantine/{id}/accept": {postgres.ActionAccept, a.decide(true)},
		"/quarantine/{id}/reject": {postgres.ActionReject, a.decide(false)},
		"/backfills/{id}/apply":   {postgres.ActionApply, a.apply},
	} {
		s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { s.do(a, one, w, r) })
	}
}

// do does one action, and records the operator, the reason and the outcome.
func (s *Server) do(a *Actions, one act, w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	done, err := a.perform(r, one)
	switch bad := (refusal{}); {
	case errors.As(err, &bad):
		s.o.Log.WarnContext(r.Context(), "an action of an operator was refused", "action", one.name, "path", r.URL.Path, "why", bad.text)
		http.Error(w, bad.text, bad.status)
		return
	case err != nil:
		s.o.Log.WarnContext(r.Context(), "an action of an operator could not be done", "action", one.name, "path", r.URL.Path, "err", err)
		http.Error(w, plain.Error(err), http.StatusServiceUnavailable)
		return
	}
	s.o.Log.InfoContext(r.Context(), "an operator acted", "action", done.Action, "subject", done.Subject, "by", done.By, "reason", done.Reason,
		"failed", *done.Failed, "detail", *done.Detail)
	if r.Header.Get("Authorization") == "" {
		http.Redirect(w, r, "/actions#a"+strconv.FormatInt(done.ID, 10), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if *done.Failed {
		w.WriteHeader(http.StatusConflict)
	}
	_ = json.NewEncoder(w).Encode(done) // a disconnected client is not a fault
}

func (a *Actions) perform(r *http.Request, one act) (done postgres.Action, err error) {
	by, err := a.operator(r)
	if err != nil {
		return done, err
	}
	reason := strings.TrimSpace(r.PostFormValue("reason"))
	if reason == "" {
		return done, refusal{http.StatusBadRequest, "The field reason is empty: it says why, and is kept."}
	}
	ctx := context.WithoutCancel(r.Context()) // an action continues after it began, even if the browser disconnects
	subject, do, err := one.prepare(ctx, r)
	if err != nil {
		return done, err
	}
	done = postgres.Action{Action: one.name, Subject: subject, By: shortened(by, 100), Reason: shortened(reason, 1000)}
	if done.ID, done.At, err = a.DB.BeginAction(ctx, done); err != nil {
		return done, err
	}
	detail, err := do(ctx, done)
	failed := err != nil
	if failed {
		detail = plain.Error(err)
	}
	done.Failed, done.Detail = &failed, &detail
	ended, err := a.DB.EndAction(ctx, done.ID, failed, detail)
	if err == nil {
		done.EndedAt = &ended
	}
	return done, err
}

// shortened returns at most n characters of a text.
func shortened(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n])
	}
	return text
}

// scheduled returns the job and subject of a form. They must be in the schedule.
func (a *Actions) scheduled(ctx context.Context, r *http.Request) (task.Schedule, error) {
	list, err := a.DB.Schedules(ctx)
	if err != nil {
		return task.Schedule{}, err
	}
	job, subject := r.PostFormValue("job"), r.PostFormValue("subject")
	var jobs, subjects []string
	for _, s := range list {
		if s.Job == job && s.Subject == subject {
			return s, nil
		}
		jobs = append(jobs, s.Job)
		if s.Job == job {
			subjects = append(subjects, s.Subject)
		}
	}
	slices.Sort(jobs)
	if len(subjects) == 0 {
		return task.Schedule{}, refusal{http.StatusNotFound, fmt.Sprintf("The schedule has no job %q%s", job, nearest.SuggestOr(job, slices.Compact(jobs)...))}
	}
	return task.Schedule{}, refusal{http.StatusNotFound, fmt.Sprintf("The schedule has no %s of %q%s", job, subject, nearest.SuggestOr(subject, subjects...))}
}

// why returns the reason for a run that an action makes due.
func why(done postgres.Action) string {
	return fmt.Sprintf("%s (%s, action %d)", done.Reason, done.By, done.ID)
}

func (a *Actions) run(ctx context.Context, r *http.Request) (string, doing, error) {
	s, err := a.scheduled(ctx, r)
	return s.Job + " " + s.Subject, func(ctx context.Context, done postgres.Action) (string, error) {
		at, err := a.DB.Now(ctx)
		if err != nil {
			return "", err
		}
		return a.due(ctx, s.Job, s.Subject, at.UTC().Truncate(time.Microsecond), done)
	}, err
}

// due makes a run due.
func (a *Actions) due(ctx context.Context, job, subject string, slot time.Time, done postgres.Action) (string, error) {
	id, err := a.DB.AddRun(ctx, job, subject, slot, why(done))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("run %d is due", id), nil
}

func (a *Actions) pause(paused bool) preparation {
	return func(ctx context.Context, r *http.Request) (string, doing, error) {
		s, err := a.scheduled(ctx, r)
		return s.Job + " " + s.Subject, func(ctx context.Context, done postgres.Action) (string, error) {
			changed, err := a.DB.PauseSchedule(ctx, s.Job, s.Subject, paused, done.By, done.Reason)
			if err != nil {
				return "", err
			}
			return "it " + PauseOutcome(paused, changed), nil
		}, err
	}
}

// PauseOutcome describes the state of a job after it was paused or resumed. changed reports whether its state has changed.
func PauseOutcome(paused, changed bool) string {
	switch {
	case paused && changed:
		return "is now paused"
	case paused:
		return "was paused already; the earlier reason stays"
	case changed:
		return "runs again"
	}
	return "was not paused; nothing changed"
}

// numbered returns the number in the path of a request.
func numbered(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, refusal{http.StatusNotFound, fmt.Sprintf("%q is not a number.", r.PathValue("id"))}
	}
	return id, nil
}

func (a *Actions) retry(ctx context.Context, r *http.Request) (string, doing, error) {
	id, err := numbered(r)
	if err != nil {
		return "", nil, err
	}
	list, err := a.DB.Runs(ctx, postgres.RunFilter{ID: id, Limit: 1})
	if err != nil {
		return "", nil, err
	}
	if len(list) == 0 {
		return "", nil, refusal{http.StatusNotFound, fmt.Sprintf("There is no run %d.", id)}
	}
	run := list[0]
	return fmt.Sprintf("run %d (%s %s)", id, run.Job, run.Subject), func(ctx context.Context, done postgres.Action) (string, error) {
		switch {
		case run.Trigger == "backfill":
			return "", errors.New("it is of a backfill: `tidemark backfill retry-failed` tries it again")
		case run.Status != "failed" && run.Status != "skipped":
			return "", fmt.Errorf("it is %s: only what failed or was skipped is tried again", run.Status)
		}
		return a.due(ctx, run.Job, run.Subject, run.Slot, done)
	}, nil
}

func (a *Actions) decide(accept bool) preparation {
	return func(_ context.Context, r *http.Request) (string, doing, error) {
		id, err := numbered(r)
		if err == nil && accept && a.Accept == nil {
			err = refusal{http.StatusNotFound, "This process does not read the archive: accept it on the pages of a worker, or with `tidemark quarantine accept`."}
		}
		return fmt.Sprintf("quarantine %d", id), func(ctx context.Context, done postgres.Action) (string, error) {
			at, err := a.DB.Now(ctx)
			if err != nil {
				return "", err
			}
			d := postgres.Decision{At: at, By: done.By, Reason: done.Reason}
			if !accept {
				return "it stays out, now and whenever it comes again", a.DB.RejectQuarantined(ctx, id, d)
			}
			added, err := a.Accept(ctx, id, d)
			return fmt.Sprintf("%d vintages were added, known from %s", added, at.UTC().Format(time.RFC3339)), err
		}, err
	}
}

func (a *Actions) apply(_ context.Context, r *http.Request) (string, doing, error) {
	id, err := numbered(r)
	return fmt.Sprintf("plan %d", id), func(ctx context.Context, _ postgres.Action) (string, error) {
		return "the backfill has begun", a.Apply(ctx, id)
	}, err
}

func (s *Server) signIn(a *Actions) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		by := shortened(strings.TrimSpace(r.PostFormValue("by")), 100)
		switch {
		case !fromHere(r):
			http.Error(w, "This form did not come from a page of this listener.", http.StatusForbidden)
		case by == "":
			http.Error(w, "The field by is empty: it says who acts, and is kept with each action.", http.StatusBadRequest)
		case !a.knows(r.PostFormValue("token")):
			s.o.Log.WarnContext(r.Context(), "somebody tried to sign in with a token that is not OPS_TOKEN", "by", by, "from", r.RemoteAddr)
			http.Error(w, "The token is not OPS_TOKEN.", http.StatusUnauthorized)
		default:
			s.cookie(w, a.seal(session{By: by, Until: a.Now().Add(sessionFor)}), int(sessionFor.Seconds()))
			http.Redirect(w, r, "/", http.StatusSeeOther)
		}
	}
}

func (s *Server) signOut(*Actions) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !fromHere(r) {
			http.Error(w, "This form did not come from a page of this listener.", http.StatusForbidden)
			return
		}
		s.cookie(w, "", -1)
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// cookie sets the session's cookie. It is not Secure, because the private listener uses HTTP and browsers would not return a Secure cookie.
func (s *Server) cookie(w http.ResponseWriter, value string, age int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // see above
		Name: sessionCookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}
