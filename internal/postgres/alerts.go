package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Alert is something that someone has to look at.
type Alert struct {
	ID int64
	// Kind and Subject name it; only one alert with a name is open at a time.
	Kind, Subject string
	// Severity is warning or error.
	Severity string
	// Text says in a sentence what is wrong, and what to do.
	Text             string
	RaisedAt, SeenAt time.Time
	ResolvedAt       *time.Time
}

// The severities of an alert.
const (
	AlertWarning = "warning"
	AlertError   = "error"
)

const alertColumns = `id, kind, subject, severity, text, raised_at, seen_at, resolved_at`

const raiseSQL = `
	insert into alerts (kind, subject, severity, text)
	select t.kind, t.subject, t.severity, t.text
	from unnest(@kinds::text[], @subjects::text[], @severities::text[], @texts::text[]) as t (kind, subject, severity, text)
	on conflict (kind, subject) where resolved_at is null do nothing
	returning ` + alertColumns

const seeSQL = `
	update alerts a set seen_at = clock_timestamp(), text = t.text, severity = t.severity
	from unnest(@kinds::text[], @subjects::text[], @severities::text[], @texts::text[]) as t (kind, subject, severity, text)
	where a.kind = t.kind and a.subject = t.subject and a.resolved_at is null`

const resolveSQL = `
	update alerts a set resolved_at = clock_timestamp()
	where a.resolved_at is null and a.seen_at < clock_timestamp() - @calm::interval
		and not exists (select from unnest(@kinds::text[], @subjects::text[]) as t (kind, subject) where t.kind = a.kind and t.subject = a.subject)
	returning ` + alertColumns

const messagesSQL = `
	insert into alert_messages (alert_id, resolved, channel)
	select id, @resolved, channel from unnest(@ids::bigint[]) as i (id), unnest(@channels::text[]) as c (channel)
	on conflict do nothing`

// SaveAlerts makes the open alerts those of a list: what is new is raised, and what has not been so for the time of calm is resolved. For
// both a message to each channel becomes due. It returns what was raised and what was resolved by this call: of several processes that
// see the same, one gets it.
func (db *DB) SaveAlerts(ctx context.Context, now []Alert, calm time.Duration, channels []string) (raised, resolved []Alert, err error) {
	args := pgx.NamedArgs{"calm": calm}
	var kinds, subjects, severities, texts []string
	for _, a := range now {
		kinds, subjects, severities, texts = append(kinds, a.Kind), append(subjects, a.Subject), append(severities, a.Severity), append(texts, a.Text)
	}
	args["kinds"], args["subjects"], args["severities"], args["texts"] = kinds, subjects, severities, texts
	err = db.tx(ctx, func(tx pgx.Tx) error {
		// One at a time: two that see other things at the same moment would raise and resolve in turns.
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('alerts', 1))`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, seeSQL, args); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, raiseSQL, args)
		if raised, err = collect[Alert](rows, err); err != nil {
			return err
		}
		rows, err = tx.Query(ctx, resolveSQL, args)
		if resolved, err = collect[Alert](rows, err); err != nil {
			return err
		}
		for isOver, list := range map[bool][]Alert{false: raised, true: resolved} {
			var ids []int64
			for _, a := range list {
				ids = append(ids, a.ID)
			}
			if _, err := tx.Exec(ctx, messagesSQL, pgx.NamedArgs{"ids": ids, "channels": channels, "resolved": isOver}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("store the alerts: %w", err)
	}
	return raised, resolved, nil
}

// Alerts returns the alerts that are open, and with all also those that are over, the newest first.
func (db *DB) Alerts(ctx context.Context, all bool, limit int) ([]Alert, error) {
	rows, err := db.reads.Query(ctx, `
		select `+alertColumns+` from alerts where resolved_at is null or @all order by resolved_at is null desc, raised_at desc, id desc limit @limit`,
		pgx.NamedArgs{"all": all, "limit": limit})
	list, err := collect[Alert](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the alerts: %w", asUnavailable(err))
	}
	return list, nil
}

// AlertMessage is a message about an alert that is to be sent.
type AlertMessage struct {
	Alert
	// Resolved tells that the alert is over.
	Resolved bool
	Channel  string
	// Tries counts the attempts to send it, this one included.
	Tries int
}

const takeMessageSQL = `
	with taken as (
		select alert_id, resolved, channel from alert_messages
		where sent_at is null and next_try_at <= clock_timestamp() and channel = any(@channels) and tries < @tries
		order by next_try_at
		limit 1
		for update skip locked
	)
	update alert_messages m set tries = m.tries + 1, next_try_at = clock_timestamp() + @lease::interval
	from taken t, alerts a
	where (m.alert_id, m.resolved, m.channel) = (t.alert_id, t.resolved, t.channel) and a.id = m.alert_id
	returning a.id, a.kind, a.subject, a.severity, a.text, a.raised_at, a.seen_at, a.resolved_at, m.resolved, m.channel, m.tries`

// maxMessageTries bounds how often a message is tried: for some days, as the pauses grow.
const maxMessageTries = 60

// TakeAlertMessage takes a message that is due for one of the channels, for as long as the lease: whoever sends it says so before, or it is
// due again. ErrNotFound where none is due.
func (db *DB) TakeAlertMessage(ctx context.Context, channels []string, lease time.Duration) (m AlertMessage, err error) {
	err = db.pool.QueryRow(ctx, takeMessageSQL, pgx.NamedArgs{"channels": channels, "lease": lease, "tries": maxMessageTries}).Scan(
		&m.ID, &m.Kind, &m.Subject, &m.Severity, &m.Text, &m.RaisedAt, &m.SeenAt, &m.ResolvedAt, &m.Resolved, &m.Channel, &m.Tries)
	if errors.Is(err, pgx.ErrNoRows) {
		return m, fmt.Errorf("a message about an alert: %w", ErrNotFound)
	}
	if err != nil {
		return m, fmt.Errorf("take a message about an alert: %w", err)
	}
	return m, nil
}

// SentAlertMessage records that a message was sent, or with a fault why not and when it is tried again.
func (db *DB) SentAlertMessage(ctx context.Context, m AlertMessage, fault string, again time.Duration) error {
	_, err := db.pool.Exec(ctx, `
		update alert_messages
		set sent_at = case when @fault = '' then clock_timestamp() end, error = nullif(@fault, ''), next_try_at = clock_timestamp() + @again::interval
		where alert_id = @id and resolved = @resolved and channel = @channel and sent_at is null`,
		pgx.NamedArgs{"id": m.ID, "resolved": m.Resolved, "channel": m.Channel, "fault": fault, "again": again})
	if err != nil {
		return fmt.Errorf("record a message about an alert: %w", err)
	}
	return nil
}
