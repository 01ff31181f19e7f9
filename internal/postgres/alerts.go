package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Alert is a problem that an operator must look at.
type Alert struct {
	ID int64
	// Kind and Subject identify the alert. Only one alert with the same Kind and Subject can be open.
	Kind, Subject string
	// Severity is AlertWarning or AlertError.
	Severity string
	// Text says in a sentence what is wrong, and what to do.
	Text             string
	RaisedAt, SeenAt time.Time
	ResolvedAt       *time.Time
	// Quiet means that the fault keeps an open alert open, and raises none. It is not stored.
	Quiet bool `db:"-"`
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
	from unnest(@kinds::text[], @subjects::text[], @severities::text[], @texts::text[], @quiet::bool[]) as t (kind, subject, severity, text, quiet)
	where not t.quiet
	on conflict (kind, subject) where resolved_at is null do nothing
	returning ` + alertColumns

const seeSQL = `
	update alerts a set seen_at = clock_timestamp(), text = t.text, severity = t.severity
	from unnest(@kinds::text[], @subjects::text[], @severities::text[], @texts::text[]) as t (kind, subject, severity, text)
	where a.kind = t.kind and a.subject = t.subject and a.resolved_at is null`

const resolveSQL = `
	update alerts a set resolved_at = clock_timestamp()
	where a.resolved_at is null and a.seen_at < clock_timestamp() - @resolve_delay::interval
		and not exists (select from unnest(@kinds::text[], @subjects::text[]) as t (kind, subject) where t.kind = a.kind and t.subject = a.subject)
	returning ` + alertColumns

const messagesSQL = `
	insert into alert_messages (alert_id, resolved, channel)
	select id, @resolved, channel from unnest(@ids::bigint[]) as i (id), unnest(@channels::text[]) as c (channel)
	on conflict do nothing`

// SaveAlerts makes the open alerts match the list now. It raises new alerts that are not quiet, and resolves alerts that were not in the list for
// the time resolveDelay. For each raised or resolved alert it schedules a message to every channel. It returns the alerts that this call raised and
// resolved. If several processes see the same change, only one of them gets it.
func (db OperatorStore) SaveAlerts(ctx context.Context, now []Alert, resolveDelay time.Duration, channels []string) (raised, resolved []Alert, err error) {
	args := pgx.NamedArgs{"resolve_delay": resolveDelay}
	var kinds, subjects, severities, texts []string
	quiet := make([]bool, 0, len(now))
	for _, a := range now {
		quiet = append(quiet, a.Quiet)
		kinds, subjects, severities, texts = append(kinds, a.Kind), append(subjects, a.Subject), append(severities, a.Severity), append(texts, a.Text)
	}
	args["kinds"], args["subjects"], args["severities"], args["texts"], args["quiet"] = kinds, subjects, severities, texts, quiet
	err = db.tx(ctx, func(tx pgx.Tx) error {
		// Only one process at a time: two processes with different lists would raise and resolve alerts alternately.
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

// Alerts returns the open alerts, then the newest resolved ones if all is set.
func (db OperatorStore) Alerts(ctx context.Context, all bool, limit int) ([]Alert, error) {
	rows, err := db.reads.Query(ctx, `
		select `+alertColumns+` from alerts where resolved_at is null or @all order by resolved_at is null desc, raised_at desc, id desc limit @limit`,
		pgx.NamedArgs{"all": all, "limit": limit})
	list, err := collect[Alert](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the alerts: %w", asUnavailable(err))
	}
	return list, nil
}

// AlertMessage is a message about an alert that must be sent.
type AlertMessage struct {
	Alert
	// Resolved means that the alert is over.
	Resolved bool
	Channel  string
	// Tries counts the attempts to send it, including the current one.
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

// maxMessageTries limits how often a message is tried. With growing backoff this takes some days.
const maxMessageTries = 60

// TakeAlertMessage leases a message that is due for one of the channels. The caller must call SentAlertMessage before the lease ends, or
// the message is due again. It returns ErrNotFound if no message is due.
func (db OperatorStore) TakeAlertMessage(ctx context.Context, channels []string, lease time.Duration) (m AlertMessage, err error) {
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

// SentAlertMessage records that a message was sent. If fault is not empty, sending failed: it records the fault and schedules the next
// attempt after the duration again.
func (db OperatorStore) SentAlertMessage(ctx context.Context, m AlertMessage, fault string, again time.Duration) error {
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
