-- What was done, in its order: which answers were stored together and when each became known, so that the answers alone make the same
-- observations again; and how every attempt of a run went.

-- +goose Up

-- One row for each time that something was stored of what a source answered, in the order of the stores.
create table loads (
    id        bigint      generated always as identity primary key,
    source    text        not null,
    -- What was decided beside the bytes, in the order of what was stored. Null: nothing was.
    choices   jsonb,
    -- Its answers came with an archive, and nothing is stored of them.
    left_out  boolean     not null default false,
    stored_at timestamptz not null default clock_timestamp()
);

-- The answers of a load in their order, and when each became known: when it was fetched, accepted, or read again.
create table load_fetches (
    load_id  bigint      not null references loads (id),
    place    int         not null,
    fetch_id bigint      not null references fetches (id),
    known_at timestamptz not null,
    primary key (load_id, place)
);
create index load_fetches_of on load_fetches (fetch_id);

-- What is stored already was stored by the runs that fetched it, of each the answers that left a row. What came without a run was stored
-- answer by answer.
with used as (
    select distinct fetch_id from observations
), runs_that_stored as (
    select f.source, f.run_id, min(f.id) as first from fetches f join used u on u.fetch_id = f.id where f.run_id is not null
    group by f.source, f.run_id
), members as (
    select s.first, f.id, f.fetched_at
    from runs_that_stored s
    join fetches f on f.source = s.source and f.run_id = s.run_id and f.status in (200, 304)
    left join used u on u.fetch_id = f.id
    where u.fetch_id is not null or (not exists (
            select from fetches o join used ou on ou.fetch_id = o.id
            where o.source = f.source and o.run_id = f.run_id and o.url = f.url)
        and not exists (
            select from fetches n
            where n.source = f.source and n.run_id = f.run_id and n.url = f.url and n.status in (200, 304) and n.id > f.id))
    union all
    select f.id, f.id, f.fetched_at from fetches f join used u on u.fetch_id = f.id where f.run_id is null
), dated as (
    select m.first, m.id, q.decision, greatest(m.fetched_at, case when q.decision = 'accepted' then q.decided_at end) as known_at
    from members m
    left join quarantined_fetches qf on qf.fetch_id = m.id
    left join quarantine q on q.id = qf.quarantine_id
), free as (
    select d.*, min(d.known_at) over (partition by d.first) as began from dated d where d.decision is null or d.decision = 'accepted'
), numbered as (
    select *, dense_rank() over (order by began, first) as n, row_number() over (partition by first order by id) as place from free
), stored as (
    insert into loads (source, stored_at)
    select f.source, n.began from (select distinct n, first, began from numbered) n join fetches f on f.id = n.first order by n.n
    returning id
), ids as (
    select id, row_number() over (order by id) as n from stored
)
insert into load_fetches (load_id, place, fetch_id, known_at)
select i.id, n.place, n.id, n.known_at from numbered n join ids i on i.n = n.n;

create trigger append_only before update or delete on loads for each row execute function append_only();
create trigger append_only_truncate before truncate on loads for each statement execute function append_only();
create trigger append_only before update or delete on load_fetches for each row execute function append_only();
create trigger append_only_truncate before truncate on load_fetches for each statement execute function append_only();

-- What an archive that was imported says was done, and has yet to be done here, in its order: a load, or the snapshot of an instant.
create table rebuilding (
    id      bigint      generated always as identity primary key,
    load_id bigint      references loads (id),
    signal  text,
    at      timestamptz,
    check ((load_id is null) = (signal is not null) and (signal is null) = (at is null))
);
create unique index rebuilding_load on rebuilding (load_id) where load_id is not null;
create unique index rebuilding_snapshot on rebuilding (signal, at) where signal is not null;

grant select, insert on loads, load_fetches to tidemark_worker;
grant select, insert, delete on rebuilding to tidemark_worker;
grant select on loads, load_fetches, rebuilding to tidemark_api;

-- Every attempt of a run, written down by runs itself, so that no way to begin or to end one can be forgotten.
create table run_attempts (
    run_id      bigint      not null references runs (id) on delete cascade,
    attempt     int         not null,
    worker      text,
    started_at  timestamptz not null,
    finished_at timestamptz,
    outcome     text        not null default 'running' check (outcome in
                    ('running', 'succeeded', 'failed', 'skipped', 'lost', 'waited', 'goes on later', 'given back', 'superseded')),
    -- What the run had added before, and what it added by the end of the attempt.
    rows_before bigint      not null default 0,
    rows_added  bigint,
    -- Why it failed, was lost, was skipped or waited.
    error       text,
    -- What the attempt said, at most some hundred lines: [{"at","level","text"}].
    log         jsonb       not null default '[]',
    primary key (run_id, attempt)
);

-- +goose StatementBegin
create function run_attempts_follow() returns trigger language plpgsql as $$
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
create trigger run_attempts_follow after update on runs for each row
    when (old.status is distinct from new.status or old.attempt is distinct from new.attempt) execute function run_attempts_follow();

grant select, insert, update on run_attempts to tidemark_worker;
grant select on run_attempts to tidemark_api;

-- +goose Down
drop trigger run_attempts_follow on runs;
drop function run_attempts_follow();
drop table run_attempts;
drop table rebuilding;
drop table load_fetches;
drop table loads;
