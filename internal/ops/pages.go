package ops

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark"
	"tidemark/backfill"
	"tidemark/internal/nearest"
	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

//go:embed templates/*.html
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"instant": instant, "ether": Ether, "runway": Runway, "age": age, "tone": tone, "line": line, "deref": func(b *bool) bool { return b != nil && *b },
}).ParseFS(files, "templates/*.html"))

// StatusPages is the data of the operator's pages. Without it the private listener has no pages.
type StatusPages struct {
	Observer *Observer
	// Next returns the time of a schedule's next slot after an instant, or the zero time if it has no further slot.
	Next func(s task.Schedule, after time.Time) time.Time
	// Stylesheet is the stylesheet of the public pages, and Icon their icon as a PNG image.
	Stylesheet, Icon []byte
	// Queue lists the workers. Nil means that there is no page of workers.
	Queue *Queue
	// Actions are the actions that the pages offer. Nil means none.
	Actions *Actions
}

// table holds the rows of a page, and the actions that its reader can take.
type table[T any] struct {
	Rows []T
	// By is the signed-in operator. If it is empty, no actions are offered. Accepts reports whether this process can store quarantined
	// answers.
	By      string
	Accepts bool
}

// listed returns a table for the requesting operator.
func listed[T any](p StatusPages, r *http.Request, rows []T) table[T] {
	if p.Actions == nil {
		return table[T]{Rows: rows}
	}
	return table[T]{Rows: rows, By: p.Actions.signedIn(r), Accepts: p.Actions.Accept != nil}
}

// rows is the number of runs, quarantined answers and backfills that a page shows, newest first.
const rows = 100

func (s *Server) pages(p StatusPages) {
	page := func(pattern, name, title string, body func(ctx context.Context, r *http.Request) (any, error)) {
		s.mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
			data, err := body(r.Context(), r)
			status, inside := http.StatusOK, name
			switch bad := (refusal{}); {
			case errors.As(err, &bad):
				status, inside, data = bad.status, "refused.html", bad.text
			case err != nil:
				s.o.Log.WarnContext(r.Context(), "a page for operators cannot be made", "path", r.URL.Path, "err", err)
				status, inside, data = http.StatusServiceUnavailable, "trouble.html", plain.Error(err)
			}
			var out bytes.Buffer
			err = templates.ExecuteTemplate(&out, "page.html", struct {
				Title, Path, Role, By   string
				Queue, Actions, Workers bool
				Body                    template.HTML
			}{title, pattern, s.o.Role, listed[any](p, r, nil).By, s.o.Monitor != nil, p.Actions != nil, p.Queue != nil, render(inside, data)})
			if err != nil {
				panic(err) // the templates are part of the program
			}
			h := w.Header()
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
			w.WriteHeader(status)
			_, _ = w.Write(out.Bytes()) // a disconnected reader is not a fault
		})
	}
	page("/{$}", "overview.html", "Overview", func(ctx context.Context, _ *http.Request) (any, error) {
		return p.Observer.Observe(ctx)
	})
	page("/schedule", "schedule.html", "Schedule", func(ctx context.Context, r *http.Request) (any, error) {
		list, err := p.schedule(ctx)
		return listed(p, r, list), err
	})
	page("/runs", "runs.html", "Runs", p.runs)
	page("/runs/{id}", "run.html", "Run", p.run)
	page("/quarantine", "quarantine.html", "Quarantine", func(ctx context.Context, r *http.Request) (any, error) {
		list, err := p.Observer.DB.Quarantined(ctx, postgres.QuarantineFilter{Limit: rows})
		return listed(p, r, list), err
	})
	page("/backfills", "backfills.html", "Backfills", func(ctx context.Context, r *http.Request) (any, error) {
		list, err := p.backfills(ctx)
		return listed(p, r, list), err
	})
	if p.Queue != nil {
		page("/workers", "workers.html", "Workers", func(ctx context.Context, _ *http.Request) (any, error) { return p.Queue.Workers(ctx, p.Observer.DB) })
	}
	page("/actions", "actions.html", "Actions", func(ctx context.Context, _ *http.Request) (any, error) { return p.Observer.DB.Actions(ctx, rows) })
	if p.Actions != nil {
		page("/session", "session.html", "Sign in", func(_ context.Context, r *http.Request) (any, error) { return listed[any](p, r, nil), nil })
		s.serveActions(p.Actions)
	}
	s.mux.HandleFunc("GET /runbook", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
		_, _ = io.WriteString(w, tidemark.Runbook) // a disconnected reader is not a fault
	})
	file := func(path, mediaType string, body []byte) {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			w.Header().Set("Cache-Control", "max-age=300")
			_, _ = w.Write(body)
		})
	}
	file("/style.css", "text/css; charset=utf-8", p.Stylesheet)
	file("/favicon.ico", "image/png", p.Icon) // browsers look for it there
}

// render renders the content of a page. The templates are part of the program, so a fault in one is a bug.
func render(name string, data any) template.HTML {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		panic(err)
	}
	return template.HTML(out.String()) //nolint:gosec // made by html/template, which escaped what is not ours
}

// Slotted is a schedule with its next slot and the outcome of its runs.
type Slotted struct {
	task.Schedule

	Next time.Time
	Seen postgres.JobStatus
	// Pause says why it is paused, zero if it is not.
	Pause postgres.Pause
}

func (p StatusPages) schedule(ctx context.Context) ([]Slotted, error) {
	list, err := p.Observer.DB.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := p.Observer.DB.JobStatus(ctx)
	if err != nil {
		return nil, err
	}
	pauses, err := p.Observer.DB.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	at, err := p.Observer.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]postgres.JobStatus{}
	for _, s := range seen {
		byName[s.Job+" "+s.Subject] = s
	}
	out := make([]Slotted, 0, len(list))
	for _, s := range list {
		out = append(out, Slotted{Schedule: s, Next: p.Next(s, at), Seen: byName[s.Job+" "+s.Subject], Pause: pauses[[2]string{s.Job, s.Subject}]})
	}
	return out, nil
}

func (p StatusPages) runs(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	f := postgres.RunFilter{Job: q.Get("job"), Subject: q.Get("subject"), Status: q.Get("status"), Limit: rows}
	for name := range q {
		if known := []string{"job", "subject", "status"}; !slices.Contains(known, name) {
			return nil, refusal{http.StatusBadRequest, fmt.Sprintf("The parameter %q is not known%s", name, nearest.SuggestOr(name, known...))}
		}
	}
	if f.Status != "" && !slices.Contains(postgres.RunStatuses, f.Status) {
		return nil, refusal{http.StatusBadRequest, fmt.Sprintf("The status %q is not known%s", f.Status, nearest.SuggestOr(f.Status, postgres.RunStatuses...))}
	}
	if jobs := slices.Sorted(maps.Keys(task.Policies)); f.Job != "" && !slices.Contains(jobs, f.Job) {
		return nil, refusal{http.StatusBadRequest, fmt.Sprintf("The job %q is not known%s", f.Job, nearest.SuggestOr(f.Job, jobs...))}
	}
	list, err := p.Observer.DB.Runs(ctx, f)
	if err == nil && len(list) == 0 && f.Subject != "" {
		err = p.knownSubject(ctx, f)
	}
	return struct {
		Filter   postgres.RunFilter
		Statuses []string
		Runs     []postgres.Run
	}{f, postgres.RunStatuses, list}, err
}

// knownSubject refuses a subject that has no runs.
func (p StatusPages) knownSubject(ctx context.Context, f postgres.RunFilter) error {
	unknown, err := UnknownSubject(ctx, p.Observer.DB, f.Job, f.Subject)
	if err == nil && unknown != "" {
		return refusal{http.StatusBadRequest, "The " + unknown}
	}
	return err
}

// UnknownSubject returns a message with a suggestion for a subject that has no schedule and no runs. It is empty for a known subject.
func UnknownSubject(ctx context.Context, db *postgres.DB, job, subject string) (string, error) {
	schedules, err := db.Schedules(ctx)
	if err != nil {
		return "", err
	}
	var known []string
	for _, s := range schedules {
		if job == "" || s.Job == job {
			known = append(known, s.Subject)
		}
	}
	if slices.Contains(known, subject) {
		return "", nil
	}
	ran, err := db.Runs(ctx, postgres.RunFilter{Job: job, Subject: subject, Limit: 1})
	if err != nil || len(ran) > 0 {
		return "", err
	}
	slices.Sort(known)
	return fmt.Sprintf("subject %q is not known%s", subject, nearest.SuggestOr(subject, slices.Compact(known)...)), nil
}

// run returns one run with its attempts.
func (p StatusPages) run(ctx context.Context, r *http.Request) (any, error) {
	var shown struct {
		Run      postgres.Run
		Attempts []postgres.Attempt
		// By is the operator who can retry the run, empty if none is signed in.
		By string
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return nil, refusal{http.StatusNotFound, fmt.Sprintf("%q is not the number of a run.", r.PathValue("id"))}
	}
	list, err := p.Observer.DB.Runs(ctx, postgres.RunFilter{ID: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, refusal{http.StatusNotFound, fmt.Sprintf("There is no run %d.", id)}
	}
	shown.Run = list[0]
	if over := shown.Run.Status == "failed" || shown.Run.Status == "skipped"; over && shown.Run.Trigger != "backfill" {
		shown.By = listed[any](p, r, nil).By
	}
	shown.Attempts, err = p.Observer.DB.Attempts(ctx, id)
	return shown, err
}

func (p StatusPages) backfills(ctx context.Context) ([]backfill.Progress, error) {
	list, err := p.Observer.DB.Backfills(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]backfill.Progress, 0, len(list))
	for _, one := range list {
		progress, err := backfill.ProgressOf(ctx, p.Observer.DB, one.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, progress)
	}
	return out, nil
}

// instant formats a time.Time, or a pointer to one, in UTC. It returns a dash for a zero or nil time.
func instant(t any) string {
	switch v := t.(type) {
	case time.Time:
		if !v.IsZero() {
			return v.UTC().Format("2006-01-02 15:04:05Z")
		}
	case *time.Time:
		if v != nil {
			return v.UTC().Format("2006-01-02 15:04:05Z")
		}
	}
	return "–"
}

// age formats a duration in its largest units.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// tone returns the CSS class of a state's mark.
func tone(state string) string {
	switch state {
	case "fresh", "live", "succeeded", "ok", "pushed", "local", "accepted", "finished", WorkerIdle, WorkerBusy:
		return "good"
	case "stale", "failed", "diverged", "conflict", "damaged", "refused", "forked", "wrong_chain", "decayed", WorkerSilent:
		return ""
	case "queued", "running", "due", "pending", "unavailable", "paused", WorkerStopping:
		return "warn"
	}
	return "plain"
}

// line joins a text of several lines to one line and truncates a long one.
func line(text *string) string {
	if text == nil {
		return ""
	}
	s := []rune(strings.Join(strings.Fields(*text), " "))
	if len(s) > 160 {
		s = append(s[:157], '…')
	}
	return string(s)
}
