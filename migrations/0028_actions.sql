-- What operators did on the private pages: who, why, and what came of it.

-- +goose Up

-- One row for each action, written before it is begun.
create table operator_actions (
    id      bigint      generated always as identity primary key,
    at      timestamptz not null default clock_timestamp(),
    action  text        not null check (action in ('run', 'retry', 'pause', 'resume', 'accept', 'reject', 'apply')),
    -- What it was done to: a job and its subject, a run, an answer in quarantine, a plan.
    subject text        not null check (btrim(subject) <> '' and length(subject) <= 300),
    by      text        not null check (btrim(by) <> '' and length(by) <= 100),
    reason  text        not null check (btrim(reason) <> '' and length(reason) <= 1000)
);

-- What came of an action. One without a row was cut off: its process ended.
create table operator_outcomes (
    action_id bigint      primary key references operator_actions (id),
    at        timestamptz not null default clock_timestamp(),
    failed    boolean     not null,
    detail    text        not null check (detail <> '')
);

create trigger append_only before update or delete on operator_actions for each row execute function append_only();
create trigger append_only_truncate before truncate on operator_actions for each statement execute function append_only();
create trigger append_only before update or delete on operator_outcomes for each row execute function append_only();
create trigger append_only_truncate before truncate on operator_outcomes for each statement execute function append_only();

-- The times are the database's.
grant select, insert (action, subject, by, reason) on operator_actions to tidemark_worker;
grant select, insert (action_id, failed, detail) on operator_outcomes to tidemark_worker;

-- +goose Down
drop table operator_outcomes;
drop table operator_actions;
