-- What operators did and have to know: who stopped a schedule and why, and the alerts with the messages about them.

-- +goose Up

create table schedule_changes (
    id      bigint      generated always as identity primary key,
    job     text        not null,
    subject text        not null,
    paused  boolean     not null,
    at      timestamptz not null default clock_timestamp(),
    by      text        not null check (by <> ''),
    reason  text        not null check (reason <> ''),
    foreign key (job, subject) references schedules (job, subject)
);
create trigger append_only before update or delete on schedule_changes for each row execute function append_only();
create trigger append_only_truncate before truncate on schedule_changes for each statement execute function append_only();

-- Something that someone has to look at. It is open until resolved_at; then it may come again, as another row.
create table alerts (
    id          bigint      generated always as identity primary key,
    kind        text        not null,
    -- What it is about: a signal, a job, a day. Empty where there is only one.
    subject     text        not null,
    severity    text        not null check (severity in ('warning', 'error')),
    text        text        not null,
    raised_at   timestamptz not null default clock_timestamp(),
    -- When it was so last.
    seen_at     timestamptz not null default clock_timestamp(),
    resolved_at timestamptz
);
create unique index alerts_open on alerts (kind, subject) where resolved_at is null;
create index alerts_recent on alerts (raised_at);

-- A message about an alert: that it was raised, or that it is over. Any scheduler may send it.
create table alert_messages (
    alert_id    bigint      not null references alerts (id) on delete cascade,
    resolved    boolean     not null,
    channel     text        not null,
    tries       int         not null default 0,
    -- When it is tried next; while it is being sent, when it is taken to be lost.
    next_try_at timestamptz not null default clock_timestamp(),
    sent_at     timestamptz,
    error       text,
    primary key (alert_id, resolved, channel)
);
create index alert_messages_open on alert_messages (next_try_at) where sent_at is null;

grant select, insert on schedule_changes to tidemark_worker;
grant select, insert, update on alerts, alert_messages to tidemark_worker;
-- Only what has ended is ever deleted, by the retention's task.
grant delete on alerts, alert_messages, usage to tidemark_worker;

-- +goose Down
revoke delete on usage from tidemark_worker;
drop table alert_messages;
drop table alerts;
drop table schedule_changes;
