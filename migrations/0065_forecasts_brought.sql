-- Forecasts and grades travel with an exported archive. In the database that the archive is brought to, they are recorded again, link by link,
-- before the snapshots that follow from them. What was brought is marked, and comes before whatever the database itself witnessed.

-- +goose Up

-- What an import brought and a rebuild has not recorded yet, in the order of the original.
create table forecasts_brought (
    key    text        collate "C" primary key, -- forecast: or grade:, and the hash
    n      bigint      generated always as identity,
    at     timestamptz not null,
    record jsonb       not null
);
grant select, insert, delete on forecasts_brought to tidemark_worker;
grant select on forecasts_brought to tidemark_api;

alter table forecasts add column restored boolean not null default false;
alter table forecast_grades add column restored boolean not null default false;

-- +goose StatementBegin
create or replace function forecasts_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
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
    if new.restored then
        if not coalesce(head.restored, true) or not exists (select from forecasts_brought b where b.key = 'forecast:' || new.hash) then
            raise exception 'the forecast % is refused: no import brought it before the first forecast of this database', new.id
                using errcode = 'restrict_violation';
        end if;
        if new.issued_at > world_now() or new.issued_at >= new.scheduled_at then
            raise exception 'the forecast % is refused: it is dated %, and its figure was due at %', new.id, new.issued_at, new.scheduled_at
                using errcode = 'restrict_violation';
        end if;
        return new;
    end if;
    if exists (select from forecasts_brought) then
        raise exception 'the forecast % is refused: those that an import brought come before it (tidemark reparse)', new.id
            using errcode = 'restrict_violation';
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

-- +goose StatementBegin
create or replace function forecast_grades_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
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
    if new.restored then
        if not coalesce(head.restored, true) or not f.restored or not exists (select from forecasts_brought b where b.key = 'grade:' || new.hash) then
            raise exception 'the grade of % is refused: no import brought it before the first grade of this database', new.id
                using errcode = 'restrict_violation';
        end if;
        if new.graded_at > world_now() or new.graded_at < new.published_at then
            raise exception 'the grade of % is refused: it is dated %, its print %', new.id, new.graded_at, new.published_at
                using errcode = 'restrict_violation';
        end if;
        return new;
    end if;
    if exists (select from forecasts_brought) then
        raise exception 'the grade of % is refused: those that an import brought come before it (tidemark reparse)', new.id
            using errcode = 'restrict_violation';
    end if;
    new.graded_at := world_now();
    return new;
end
$$;
-- +goose StatementEnd

-- What was brought is refused where its figure was known when it was issued. The observations that the rebuild stored say so.
-- +goose StatementBegin
create or replace function forecasts_guard_print() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    due  record;
    list text;
begin
    select * into due from forecast_due(new.signal, new.figure, new.period);
    if not found then
        raise exception 'the forecast % is refused: there is no such print', new.id using errcode = 'restrict_violation';
    end if;
    if (new.series, new.observed_at, new.scheduled_at) is distinct from (due.series, due.observed_at, due.scheduled_at) then
        raise exception 'the forecast % is refused: its print is %, about %, due at %', new.id, due.series, utc_text(due.observed_at), utc_text(due.scheduled_at)
            using errcode = 'restrict_violation';
    end if;
    if exists (select from observations o where o.series = any(due.prints) and o.observed_at = due.observed_at
            and (not new.restored or o.vintage_at <= new.issued_at)) then
        raise exception 'the forecast % is refused: its figure is known', new.id using errcode = 'restrict_violation';
    end if;
    foreach list in array array[new.quantiles, new.naive1, new.naive2] loop
        if list !~ format('^(-?[0-9]+\.[0-9]{%s};){22}-?[0-9]+\.[0-9]{%s}$', due.decimals, due.decimals) or exists (
            select from (select q::numeric as q, lag(q::numeric) over (order by n) as before from unnest(string_to_array(list, ';')) with ordinality as u (q, n)) s
            where q < before) then
            raise exception 'the forecast % is refused: its quantiles descend, or have not % decimals', new.id, due.decimals using errcode = 'restrict_violation';
        end if;
    end loop;
    return new;
end
$$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
create or replace function forecasts_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
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
-- +goose StatementBegin
create or replace function forecast_grades_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
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
-- +goose StatementBegin
create or replace function forecasts_guard_print() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    due  record;
    list text;
begin
    select * into due from forecast_due(new.signal, new.figure, new.period);
    if not found then
        raise exception 'the forecast % is refused: there is no such print', new.id using errcode = 'restrict_violation';
    end if;
    if (new.series, new.observed_at, new.scheduled_at) is distinct from (due.series, due.observed_at, due.scheduled_at) then
        raise exception 'the forecast % is refused: its print is %, about %, due at %', new.id, due.series, utc_text(due.observed_at), utc_text(due.scheduled_at)
            using errcode = 'restrict_violation';
    end if;
    if exists (select from observations o where o.series = any(due.prints) and o.observed_at = due.observed_at) then
        raise exception 'the forecast % is refused: its figure is known', new.id using errcode = 'restrict_violation';
    end if;
    foreach list in array array[new.quantiles, new.naive1, new.naive2] loop
        if list !~ format('^(-?[0-9]+\.[0-9]{%s};){22}-?[0-9]+\.[0-9]{%s}$', due.decimals, due.decimals) or exists (
            select from (select q::numeric as q, lag(q::numeric) over (order by n) as before from unnest(string_to_array(list, ';')) with ordinality as u (q, n)) s
            where q < before) then
            raise exception 'the forecast % is refused: its quantiles descend, or have not % decimals', new.id, due.decimals using errcode = 'restrict_violation';
        end if;
    end loop;
    return new;
end
$$;
-- +goose StatementEnd
alter table forecast_grades drop column restored;
alter table forecasts drop column restored;
drop table forecasts_brought;
