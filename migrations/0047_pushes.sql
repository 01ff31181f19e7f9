-- Everything that is pushed is a row first: pushes is written in the transaction that makes the thing known. The id is the cursor. It grows
-- in the order of commits, because its lock is taken at the commit and kept until its end.

-- +goose Up

-- push_head is the last cursor. Its row is the last lock of a transaction (internal/postgres/locks.go).
create table push_head (
    one  boolean primary key default true check (one),
    last bigint  not null check (last >= 0)
);
insert into push_head (last) values (0);

create table pushes (
    id         bigint      primary key,
    topic      text        collate "C" not null check (topic ~ '^(signal:[a-z0-9-]+|pick|event|forecast)$'),
    kind       text        collate "C" not null check (kind in ('new_print', 'revision', 'status', 'update', 'announced', 'happened', 'issued', 'graded')),
    subject    text        collate "C" not null,
    data       jsonb       not null check (jsonb_typeof(data) = 'object'),
    -- The world's time, and the wall clock's.
    at         timestamptz not null,
    created_at timestamptz not null default clock_timestamp()
);
create index pushes_by_age on pushes (created_at);

-- push appends a row. Only the triggers below call it, at the commit.
-- +goose StatementBegin
create function push(p_topic text, p_kind text, p_subject text, p_data jsonb) returns void language plpgsql as $$
declare
    n bigint;
begin
    update push_head set last = last + 1 returning last into n;
    insert into pushes (id, topic, kind, subject, data, at) values (n, p_topic, p_kind, p_subject, p_data, world_now());
    perform pg_notify('pushes', n::text);
end
$$;
-- +goose StatementEnd

-- A snapshot is pushed if it is the newest of its signal and says something else than the one before it.
-- +goose StatementBegin
create function push_snapshot() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    before snapshots%rowtype;
begin
    if exists (select from snapshots s where s.signal = new.signal and s.at > new.at) then
        return null;
    end if;
    if tg_op = 'UPDATE' then
        before := old;
    else
        select * into before from snapshots s where s.signal = new.signal and s.at < new.at order by s.at desc limit 1;
    end if;
    if (before.status, before.observed_at, before.value, before.lo, before.hi, before.baseline, before.z_score)
        is not distinct from (new.status, new.observed_at, new.value, new.lo, new.hi, new.baseline, new.z_score) then
        return null;
    end if;
    perform push('signal:' || new.signal,
        case when before.observed_at is distinct from new.observed_at then 'new_print'
             when before.value is distinct from new.value then 'revision'
             when before.status is distinct from new.status then 'status'
             else 'update' end,
        new.signal, jsonb_build_object('as_of', new.at, 'status', new.status, 'observed_at', new.observed_at, 'value', new.value, 'lo', new.lo,
            'hi', new.hi, 'baseline', new.baseline, 'z_score', new.z_score, 'previous_value', before.value, 'previous_status', before.status,
            'synthetic', new.synthetic));
    return null;
end
$$;
-- +goose StatementEnd
create constraint trigger push_snapshot after insert or update on snapshots deferrable initially deferred for each row execute function push_snapshot();

-- A pick is pushed when it is announced, and never before.
-- +goose StatementBegin
create function push_announcement() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform push('pick', 'announced', p.ticker, jsonb_build_object('seq', p.seq, 'ticker', p.ticker, 'name', p.name, 'date', p.date,
        'price', p.price, 'currency', p.currency, 'announced_at', p.announced_at, 'hash', p.hash))
    from announced_picks p where p.seq = new.seq;
    return null;
end
$$;
-- +goose StatementEnd
create constraint trigger push_announcement after insert on announcements deferrable initially deferred for each row execute function push_announcement();

-- +goose StatementBegin
create function push_event() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform push('event', 'happened', new.ticker, jsonb_build_object('id', new.id, 'type', new.type, 'severity', new.severity, 'ticker', new.ticker,
        'occurred_at', new.occurred_at, 'change_pct', new.change_pct));
    return null;
end
$$;
-- +goose StatementEnd
create constraint trigger push_event after insert on portfolio_events deferrable initially deferred for each row execute function push_event();

-- +goose StatementBegin
create function push_forecast() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform push('forecast', 'issued', new.signal, jsonb_build_object('id', new.id, 'signal', new.signal, 'figure', new.figure, 'period', new.period,
        'release_at', new.scheduled_at, 'issued_at', new.issued_at, 'label', new.label, 'hash', new.hash));
    return null;
end
$$;
-- +goose StatementEnd
create constraint trigger push_forecast after insert on forecasts deferrable initially deferred for each row execute function push_forecast();

-- +goose StatementBegin
create function push_grade() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform push('forecast', 'graded', f.signal, jsonb_build_object('id', f.id, 'signal', f.signal, 'figure', f.figure, 'period', f.period,
        'outcome', nullif(new.outcome, ''), 'published_at', new.published_at, 'graded_at', new.graded_at, 'hash', new.hash))
    from forecasts f where f.id = new.id;
    return null;
end
$$;
-- +goose StatementEnd
create constraint trigger push_grade after insert on forecast_grades deferrable initially deferred for each row execute function push_grade();

revoke execute on function push(text, text, text, jsonb) from public;
grant select, delete on pushes to tidemark_worker;
grant select on pushes to tidemark_api;
grant select on push_head to tidemark_worker, tidemark_api;

-- +goose Down
drop trigger push_grade on forecast_grades;
drop trigger push_forecast on forecasts;
drop trigger push_event on portfolio_events;
drop trigger push_announcement on announcements;
drop trigger push_snapshot on snapshots;
drop function push_grade();
drop function push_forecast();
drop function push_event();
drop function push_announcement();
drop function push_snapshot();
drop function push(text, text, text, jsonb);
drop table pushes;
drop table push_head;
