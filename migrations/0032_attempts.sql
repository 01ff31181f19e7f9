-- Every attempt of a run is a row, also one that no worker began; and what is over has no next try.

-- +goose Up
alter table run_attempts alter column started_at drop not null;
alter table run_attempts drop constraint run_attempts_outcome_check;
alter table run_attempts add constraint run_attempts_outcome_check check (outcome in
    ('running', 'succeeded', 'failed', 'skipped', 'lost', 'waited', 'goes on later', 'given back', 'superseded', 'not begun'));

-- +goose StatementBegin
create or replace function run_attempts_follow() returns trigger language plpgsql as $$
begin
    if old.status = 'running' then
        update run_attempts a
        set finished_at = clock_timestamp(), rows_added = coalesce(new.rows_added, 0) - a.rows_before,
            outcome = case
                when new.attempt = old.attempt and new.status in ('succeeded', 'skipped') then
                    case when new.worker is null then 'goes on later' else new.status end
                when new.losses > old.losses then 'lost'
                when new.failures > old.failures then 'failed'
                when new.worker is not null then 'superseded'
                when new.next_try_at is null then 'given back'
                when new.error is null then 'goes on later'
                else 'waited'
            end,
            error = case when new.status = 'skipped' then new.reason when new.worker is null or new.status <> 'due' then new.error end
        where a.run_id = old.id and a.attempt = old.attempt;
    elsif old.status in ('due', 'queued') and new.attempt > old.attempt then
        -- A worker was given it by the queue and did not begin it: the worker died, or is frozen.
        insert into run_attempts (run_id, attempt, finished_at, rows_before, rows_added, outcome, error)
        values (new.id, old.attempt, clock_timestamp(), coalesce(old.rows_added, 0), 0, 'not begun',
            'handed to the queue at ' || to_char(old.queued_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                || ' and begun by no worker; a scheduler took the next attempt')
        on conflict (run_id, attempt) do nothing;
    end if;
    if new.status = 'running' then
        insert into run_attempts (run_id, attempt, worker, started_at, rows_before)
        values (new.id, new.attempt, new.worker, new.started_at, coalesce(new.rows_added, 0))
        on conflict (run_id, attempt) do update
        set worker = excluded.worker, started_at = excluded.started_at, finished_at = null, outcome = 'running', rows_added = null,
            rows_before = excluded.rows_before, error = null, log = '[]';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

-- A run that is under way or over has no next try, whatever program ends it.
-- +goose StatementBegin
create function runs_no_next_try() returns trigger language plpgsql as $$
begin
    new.next_try_at := null;
    return new;
end
$$;
-- +goose StatementEnd
create trigger runs_no_next_try before insert or update on runs for each row
    when (new.next_try_at is not null and new.status in ('running', 'succeeded', 'failed', 'skipped')) execute function runs_no_next_try();
update runs set next_try_at = null where next_try_at is not null and status in ('running', 'succeeded', 'failed', 'skipped');

-- +goose Down
drop trigger runs_no_next_try on runs;
drop function runs_no_next_try();
-- +goose StatementBegin
create or replace function run_attempts_follow() returns trigger language plpgsql as $$
begin
    if old.status = 'running' then
        update run_attempts a
        set finished_at = clock_timestamp(), rows_added = coalesce(new.rows_added, 0) - a.rows_before,
            outcome = case
                when new.attempt = old.attempt and new.status in ('succeeded', 'skipped') then
                    case when new.next_try_at is distinct from old.next_try_at and new.worker is null then 'goes on later' else new.status end
                when new.losses > old.losses then 'lost'
                when new.failures > old.failures then 'failed'
                when new.worker is not null then 'superseded'
                when new.next_try_at is null then 'given back'
                when new.error is null then 'goes on later'
                else 'waited'
            end,
            error = case when new.status = 'skipped' then new.reason when new.worker is null or new.status <> 'due' then new.error end
        where a.run_id = old.id and a.attempt = old.attempt;
    end if;
    if new.status = 'running' then
        insert into run_attempts (run_id, attempt, worker, started_at, rows_before)
        values (new.id, new.attempt, new.worker, new.started_at, coalesce(new.rows_added, 0))
        on conflict (run_id, attempt) do update
        set worker = excluded.worker, started_at = excluded.started_at, finished_at = null, outcome = 'running', rows_added = null,
            rows_before = excluded.rows_before, error = null, log = '[]';
    end if;
    return null;
end
$$;
-- +goose StatementEnd
delete from run_attempts where outcome = 'not begun';
alter table run_attempts drop constraint run_attempts_outcome_check;
alter table run_attempts add constraint run_attempts_outcome_check check (outcome in
    ('running', 'succeeded', 'failed', 'skipped', 'lost', 'waited', 'goes on later', 'given back', 'superseded'));
alter table run_attempts alter column started_at set not null;
