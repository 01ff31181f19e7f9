package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"tidemark/internal/postgres"
)

// KeptAlerts are the alerts of a process without a database. They are stored in a file. Each is sent once when it is raised and once when
// it is resolved, also if the process restarts in between. It is not safe for concurrent use.
type KeptAlerts struct {
	// Path is the file. Write replaces it so that a crash leaves either the old file or the new one.
	Path  string
	Write func(path string, data []byte) error
	// Channels are the destinations of messages in addition to the log, by name.
	Channels map[string]Channel
	Log      *slog.Logger
	Now      func() time.Time
	// Unknown reports whether the present state of an open alert is unknown: the alert then stays open. It may be nil.
	Unknown func(postgres.Alert) bool
	// ResolveDelay is how long a fault must be absent before its alert is resolved. Zero means a minute.
	ResolveDelay time.Duration

	state *keptAlerts
}

// keptAlerts is the content of the file.
type keptAlerts struct {
	LastID   int64            `json:"last_id"`
	Open     []postgres.Alert `json:"open"`
	Messages []keptMessage    `json:"messages"`
}

type keptMessage struct {
	postgres.AlertMessage

	NextTry time.Time `json:"next_try"`
}

// maxKeptMessages limits the messages that wait for an unavailable channel. The oldest are dropped first.
const maxKeptMessages = 1000

// Save replaces the open alerts with a list, and sends the due messages. An alert that is not in the list stays open for ResolveDelay.
func (k *KeptAlerts) Save(ctx context.Context, list []postgres.Alert) error {
	if err := k.load(); err != nil {
		return err
	}
	now := k.Now().UTC()
	delay := k.ResolveDelay
	if delay == 0 {
		delay = time.Minute
	}
	s := k.state
	for _, a := range list {
		i := slices.IndexFunc(s.Open, func(o postgres.Alert) bool { return o.Kind == a.Kind && o.Subject == a.Subject })
		if i >= 0 {
			s.Open[i].SeenAt, s.Open[i].Text, s.Open[i].Severity = now, a.Text, a.Severity
			continue
		}
		s.LastID++
		a.ID, a.RaisedAt, a.SeenAt = s.LastID, now, now
		s.Open = append(s.Open, a)
		k.due(a, false, now)
		log := k.Log.WarnContext
		if a.Severity == postgres.AlertError {
			log = k.Log.ErrorContext
		}
		log(ctx, "an alert is raised", "alert", a.ID, "kind", a.Kind, "subject", a.Subject, "text", a.Text)
	}
	s.Open = slices.DeleteFunc(s.Open, func(a postgres.Alert) bool {
		if now.Sub(a.SeenAt) < delay || a.SeenAt.Equal(now) || k.Unknown != nil && k.Unknown(a) {
			return false
		}
		a.ResolvedAt = &now
		k.due(a, true, now)
		k.Log.InfoContext(ctx, "an alert is over", "alert", a.ID, "kind", a.Kind, "subject", a.Subject, "since", a.RaisedAt)
		return true
	})
	if err := k.save(); err != nil {
		return err
	}
	return k.send(ctx, now)
}

// due adds a message for each channel.
func (k *KeptAlerts) due(a postgres.Alert, resolved bool, now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(k.Channels)) {
		k.state.Messages = append(k.state.Messages, keptMessage{postgres.AlertMessage{Alert: a, Resolved: resolved, Channel: name}, now})
	}
	if n := len(k.state.Messages) - maxKeptMessages; n > 0 {
		k.state.Messages = slices.Delete(k.state.Messages, 0, n)
	}
}

// send sends every due message. A failed message is retried later, with growing pauses.
func (k *KeptAlerts) send(ctx context.Context, now time.Time) error {
	var rest []keptMessage
	for _, m := range k.state.Messages {
		channel := k.Channels[m.Channel]
		if channel == nil {
			continue // the channel was removed from the settings
		}
		if m.NextTry.After(now) || ctx.Err() != nil {
			rest = append(rest, m)
			continue
		}
		m.Tries++
		timed, stop := context.WithTimeout(ctx, sendTimeout)
		err := channel.Send(timed, m.AlertMessage)
		stop()
		if err != nil {
			again := min(30*time.Second<<min(m.Tries-1, 10), maxWait)
			m.NextTry = now.Add(again)
			rest = append(rest, m)
			k.Log.WarnContext(ctx, "a message about an alert was not sent, trying again", "alert", m.ID, "channel", m.Channel, "in", again, "err", err)
		}
	}
	if len(rest) == len(k.state.Messages) && len(rest) == 0 {
		return nil
	}
	k.state.Messages = rest
	return k.save()
}

// load reads the file. It renames a damaged file, and open alerts are then sent again.
func (k *KeptAlerts) load() error {
	if k.state != nil {
		return nil
	}
	text, err := os.ReadFile(k.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the alerts: %w", err)
	}
	s := &keptAlerts{}
	if err == nil && json.Unmarshal(text, s) != nil {
		if err := os.Rename(k.Path, k.Path+".damaged"); err != nil {
			return fmt.Errorf("put the damaged alerts aside: %w", err)
		}
		s = &keptAlerts{}
	}
	k.state = s
	return nil
}

func (k *KeptAlerts) save() error {
	text, err := json.Marshal(k.state)
	if err != nil {
		return fmt.Errorf("keep the alerts: %w", err)
	}
	if err := k.Write(k.Path, text); err != nil {
		return fmt.Errorf("keep the alerts: %w", err)
	}
	return nil
}
