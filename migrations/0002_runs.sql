-- When: the schedule and the run log. A due slot is a row here before it is a task anywhere; the queue may lose or repeat it.

-- +goose Up

create table schedules (
    job        text        not null,
    subject    text        not null,
    cron       text        not null,
    zone       text        not null,
    catch_up   text        not null check (catch_up in ('skip', 'latest', 'all')),
    paused     boolean     not null default false,
    -- Every slot up to here is in runs (or was, before it was forgotten).
    last_slot  timestamptz,
    updated_at timestamptz not null default now(),
    primary key (job, subject)
);

create table runs (
    id           bigint      generated always as identity primary key,
    job          text        not null,
    subject      text        not null,
    slot         timestamptz not null,
    trigger      text        not null check (trigger in ('cron', 'catchup', 'data', 'manual', 'backfill')),
    queue        text        not null,
    -- due: to be enqueued once next_try_at has come; queued: handed to the queue; running: claimed by a worker;
    -- succeeded, failed, skipped: over.
    status       text        not null check (status in ('due', 'queued', 'running', 'succeeded', 'failed', 'skipped')),
    -- The attempt that may commit. Raising it shuts out every earlier one.
    attempt      int         not null default 1,
    -- Attempts that ended in an error, and attempts lost with their worker.
    failures     int         not null default 0,
    losses       int         not null default 0,
    max_attempts int         not null,
    worker       text,
    created_at   timestamptz not null default now(),
    next_try_at  timestamptz,
    queued_at    timestamptz,
    started_at   timestamptz,
    heartbeat_at timestamptz,
    finished_at  timestamptz,
    -- Rows that the run added to the record.
    rows_added   bigint,
    error        text,
    -- Who asked for a manual run, and why; why a slot was skipped.
    reason       text,
    unique (job, subject, slot)
);
create index runs_open on runs (status, next_try_at) where status in ('due', 'queued', 'running');
create index runs_recent on runs (created_at);

-- +goose StatementBegin
create function runs_due() returns trigger language plpgsql as $$
begin
    perform pg_notify('runs_due', '');
    return null;
end
$$;
-- +goose StatementEnd
create trigger runs_due after insert on runs for each statement execute function runs_due();

-- When a host may be asked again, shared by all workers.
create table hosts (
    host    text        primary key,
    next_at timestamptz not null
);

grant select, insert, update on schedules, runs, hosts to tidemark_worker;
grant delete on runs to tidemark_worker;
grant select on schedules, runs to tidemark_api;

-- +goose Down
drop table hosts;
drop table runs;
drop function runs_due();
drop table schedules;
