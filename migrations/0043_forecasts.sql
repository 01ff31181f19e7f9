-- Forecasts of figures that are not published yet, each written down before its figure exists, and the grade that it gets once it does. Both
-- are chains of their own: nothing here is ever changed or removed.

-- +goose Up

-- forecast_lock makes the writers of both chains take turns, until the end of their transaction. Whoever needs record_lock takes that first.
-- +goose StatementBegin
create function forecast_lock() returns void language sql as $$
    select pg_advisory_xact_lock(hashtextextended('forecasts', 0))
$$;
-- +goose StatementEnd

-- utc_text is an instant as both chains write it: 2026-05-06T21:05:00Z.
-- +goose StatementBegin
create function utc_text(at timestamptz) returns text language sql immutable as $$
    select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;
-- +goose StatementEnd

create table forecasts (
    seq           bigint      primary key,
    id            text        collate "C" not null unique,
    signal        text        collate "C" not null,
    figure        text        collate "C" not null,
    period        text        collate "C" not null,
    -- The print is a value of this series about observed_at; it is published at scheduled_at at the earliest.
    series        text        not null,
    observed_at   timestamptz not null,
    scheduled_at  timestamptz not null,
    issued_at     timestamptz not null check (issued_at = date_trunc('second', issued_at)),
    -- 23 decimals each, joined with ";", exactly as they are hashed.
    quantiles     text        collate "C" not null,
    naive1        text        collate "C" not null,
    naive2        text        collate "C" not null,
    label         text        not null check (label in ('skill', 'provisional', 'no_skill')),
    model_version text        collate "C" not null,
    inputs_hash   text        collate "C" not null check (inputs_hash ~ '^[0-9a-f]{64}$'),
    previous_hash text        collate "C" not null unique,
    hash          text        collate "C" not null unique,
    synthetic     boolean     not null,
    run_id        bigint,
    unique (signal, figure, period),
    check (id = signal || '/' || figure || '/' || period),
    check (quantiles ~ '^-?[0-9]+(\.[0-9]+)?(;-?[0-9]+(\.[0-9]+)?){22}$'
        and naive1 ~ '^-?[0-9]+(\.[0-9]+)?(;-?[0-9]+(\.[0-9]+)?){22}$'
        and naive2 ~ '^-?[0-9]+(\.[0-9]+)?(;-?[0-9]+(\.[0-9]+)?){22}$')
);
create index forecasts_of on forecasts (signal, seq);

create table forecast_grades (
    seq           bigint      primary key,
    id            text        collate "C" not null unique references forecasts (id),
    -- Empty where no print came in time. The scores are exact decimals.
    outcome       text        collate "C" not null check (outcome ~ '^(-?[0-9]+(\.[0-9]+)?)?$'),
    published_at  timestamptz not null check (published_at = date_trunc('second', published_at)),
    score         text        collate "C" not null,
    score1        text        collate "C" not null,
    score2        text        collate "C" not null,
    flags         text        collate "C" not null,
    previous_hash text        collate "C" not null unique,
    hash          text        collate "C" not null unique,
    graded_at     timestamptz not null,
    run_id        bigint,
    check ((outcome = '') = ('void' = any(string_to_array(flags, ','))) and (outcome = '') = (score = '' and score1 = '' and score2 = ''))
);

-- A forecast is refused from the scheduled time of its print on, and when the print is known.
-- +goose StatementBegin
create function forecasts_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    head forecasts%rowtype;
begin
    perform forecast_lock();
    select * into head from forecasts order by seq desc limit 1;
    if new.seq is distinct from coalesce(head.seq, 0) + 1 or new.previous_hash is distinct from coalesce(head.hash, repeat('0', 64)) then
        raise exception 'the forecast % is not linked to the one before', new.id using errcode = 'restrict_violation';
    end if;
    if new.hash is distinct from encode(sha256(convert_to(concat_ws('|', new.id, new.signal, new.figure || '/' || new.period, utc_text(new.issued_at),
        new.quantiles, new.naive1, new.naive2, new.model_version, new.inputs_hash, new.previous_hash), 'UTF8')), 'hex') then
        raise exception 'the hash of the forecast % is not that of its values', new.id using errcode = 'restrict_violation';
    end if;
    if new.issued_at > world_now() or new.issued_at < world_now() - interval '1 hour' then
        raise exception 'the forecast % is dated %, it is %', new.id, new.issued_at, world_now() using errcode = 'restrict_violation';
    end if;
    if world_now() >= new.scheduled_at then
        raise exception 'the forecast % is refused: its figure is due since %', new.id, new.scheduled_at using errcode = 'restrict_violation';
    end if;
    if exists (select from observations o where o.series = new.series and o.observed_at = new.observed_at) then
        raise exception 'the forecast % is refused: its figure is known', new.id using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd

-- A grade is of a print that is known, or of one that did not come.
-- +goose StatementBegin
create function forecast_grades_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    head forecast_grades%rowtype;
    f    forecasts%rowtype;
begin
    perform forecast_lock();
    select * into head from forecast_grades order by seq desc limit 1;
    select * into f from forecasts where id = new.id;
    if new.seq is distinct from coalesce(head.seq, 0) + 1 or new.previous_hash is distinct from coalesce(head.hash, repeat('0', 64)) then
        raise exception 'the grade of % is not linked to the one before', new.id using errcode = 'restrict_violation';
    end if;
    if new.hash is distinct from encode(sha256(convert_to(concat_ws('|', new.id, new.outcome, utc_text(new.published_at), new.score, new.score1,
        new.score2, new.flags, new.previous_hash), 'UTF8')), 'hex') then
        raise exception 'the hash of the grade of % is not that of its values', new.id using errcode = 'restrict_violation';
    end if;
    if new.published_at > world_now() or new.published_at < f.issued_at then
        raise exception 'the grade of % speaks of a print of %', new.id, new.published_at using errcode = 'restrict_violation';
    end if;
    new.graded_at := world_now();
    return new;
end
$$;
-- +goose StatementEnd

create trigger guard before insert on forecasts for each row execute function forecasts_guard();
create trigger append_only before update or delete on forecasts for each row execute function append_only();
create trigger append_only_truncate before truncate on forecasts for each statement execute function append_only();
create trigger guard before insert on forecast_grades for each row execute function forecast_grades_guard();
create trigger append_only before update or delete on forecast_grades for each row execute function append_only();
create trigger append_only_truncate before truncate on forecast_grades for each statement execute function append_only();

grant select, insert on forecasts, forecast_grades to tidemark_worker;
grant select on forecasts, forecast_grades to tidemark_api;

-- +goose Down
drop table forecast_grades;
drop table forecasts;
drop function forecast_grades_guard();
drop function forecasts_guard();
drop function utc_text(timestamptz);
drop function forecast_lock();
