-- Work through the past. A backfill is a plan first; its slots are rows here before they are part of any run, and how far it has
-- come is a query over them.

-- +goose Up

-- What a run needs to know beyond its subject and slot, as the task carries it: {"window": {"from": ..., "to": ...}} bounds what an
-- ingest asks for.
alter table runs add column params jsonb;

create table backfills (
    id            bigint      generated always as identity primary key,
    signal        text        not null,
    -- The days whose slots are meant, both included, in the zone of the signal's schedule.
    from_day      date        not null,
    to_day        date        not null,
    zone          text        not null,
    -- Null: each slot is computed from what was known at the slot. Otherwise all of them from what was known at this instant.
    as_of         timestamptz,
    existing      text        not null check (existing in ('skip', 'failed', 'all')),
    from_archive  boolean     not null,
    -- How many runs may be under way at once.
    parallelism   int         not null check (parallelism >= 1),
    -- What the plan rests on: [{"what": ..., "is": ...}]. It is applied only while all of it still holds.
    basis         jsonb       not null,
    status        text        not null default 'planned' check (status in ('planned', 'running', 'paused', 'cancelled')),
    -- Why it was paused.
    note          text,
    -- The world's time when it was planned: slots that came later are not part of it.
    seen_at       timestamptz not null,
    planned_at    timestamptz not null default clock_timestamp(),
    applied_at    timestamptz,
    -- Since when slots have been handed out without a break. The rate is counted from here.
    working_since timestamptz,
    -- Nothing is left to do. Null again when failed slots are tried once more.
    finished_at   timestamptz,
    check (from_day <= to_day)
);
create index backfills_open on backfills (id) where status = 'running' and finished_at is null;

-- What is asked of the sources, or read again from the archive, before the slots.
create table backfill_fetches (
    backfill_id bigint      not null references backfills (id),
    source      text        not null,
    -- First requests; further pages follow from the answers. 0 with from_archive.
    requests    int         not null,
    -- The window of observation times that is asked for; null is open.
    window_from timestamptz,
    window_to   timestamptz,
    run_id      bigint,
    -- It failed, and the operator goes on with what is known.
    waived      boolean     not null default false,
    primary key (backfill_id, source)
);

create table backfill_slots (
    backfill_id bigint      not null references backfills (id),
    slot        timestamptz not null,
    -- pending: to do; skipped: left alone by the plan; done, failed: over; cancelled: over with its backfill.
    status      text        not null check (status in ('pending', 'skipped', 'done', 'failed', 'cancelled')),
    -- The run that has it, or had it last.
    run_id      bigint,
    -- Why it was skipped, or has failed.
    reason      text,
    -- The value of the snapshot that stood when the plan was made, and the one that came out: foreseen by the plan where it could be,
    -- then as it was computed.
    old_value   double precision,
    new_value   double precision,
    -- added: it has its first snapshot; unchanged: what stood is what was computed; differs: what stood was left as it was, and
    -- what was computed is in result. Null until the slot is done.
    outcome     text        check (outcome in ('added', 'unchanged', 'differs')),
    result      jsonb,
    finished_at timestamptz,
    primary key (backfill_id, slot),
    check ((status = 'done') = (outcome is not null))
);
create index backfill_slots_pending on backfill_slots (backfill_id, slot) where status = 'pending';
create index backfill_slots_finished on backfill_slots (backfill_id, finished_at) where status in ('done', 'failed');

-- A run of a backfill that is over makes room for the next one at once.
create trigger runs_room after update of status on runs for each row
    when (new.job = 'backfill' and new.status in ('succeeded', 'failed')) execute function runs_due();

-- Every observation names its fetch. A foreign key looks for it once per row, which takes longer than everything else about a long
-- load. Fetches are never changed or removed, so it is the same to look once per statement, when observations are added.
alter table observations drop constraint observations_fetch_id_fkey;
-- +goose StatementBegin
create function observations_have_fetches() returns trigger language plpgsql as $$
declare
    missing bigint;
begin
    select a.fetch_id into missing
    from (select distinct fetch_id from added) a
    where not exists (select from fetches f where f.id = a.fetch_id)
    limit 1;
    if found then
        raise exception 'an observation names fetch %, which is not in the ledger', missing using errcode = 'foreign_key_violation';
    end if;
    return null;
end
$$;
-- +goose StatementEnd
create trigger observations_have_fetches after insert on observations referencing new table as added
    for each statement execute function observations_have_fetches();

grant select, insert, update on backfills, backfill_fetches, backfill_slots to tidemark_worker;
grant select on backfills, backfill_fetches, backfill_slots to tidemark_api;

-- +goose Down
drop trigger observations_have_fetches on observations;
drop function observations_have_fetches();
alter table observations add constraint observations_fetch_id_fkey foreign key (fetch_id) references fetches (id);
drop trigger runs_room on runs;
drop table backfill_slots;
drop table backfill_fetches;
drop table backfills;
alter table runs drop column params;
