-- Forecasts and their grades are leaves of the transparency log, written in their own transactions. The hash of a leaf is that of its chain.

-- +goose Up

-- The median and the central 80 % of the 23 quantiles; the hash commits to all of them.
-- +goose StatementBegin
create function forecast_leaf(f forecasts) returns text language sql immutable as $$
    select format(E'tidemark/forecast/v1\nseq %s\nid %s\nrelease_at %s\nvalue %s\nlo %s\nhi %s\nlevel 0.8\nmethod %s\nhash %s\nat %s\n',
        f.seq, f.id, log_time(f.scheduled_at), split_part(f.quantiles, ';', 12), split_part(f.quantiles, ';', 4), split_part(f.quantiles, ';', 20),
        f.model_version, f.hash, log_time(f.issued_at))
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create function grade_leaf(g forecast_grades) returns text language sql immutable as $$
    select format(E'tidemark/grade/v1\nseq %s\nid %s\npublished_at %s\nvalue %s\nscore %s\nhash %s\nat %s\n',
        g.seq, g.id, log_time(g.published_at), coalesce(nullif(g.outcome, ''), 'none'), coalesce(nullif(concat_ws(' ', nullif(g.score, ''),
        nullif(g.score1, ''), nullif(g.score2, '')), ''), 'none'), g.hash, log_time(g.graded_at))
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function log_record() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    case tg_table_name
        when 'announcements' then
            perform log_append('record', 'pick:' || p.seq, pick_leaf(p, new.announced_at)) from picks p where p.seq = new.seq;
        when 'gaps' then perform log_append('record', 'gap:' || new.date, gap_leaf(new));
        when 'corrections' then perform log_append('record', 'correction:' || new.id, correction_leaf(new));
        when 'forecasts' then perform log_append('record', 'forecast:' || new.seq, forecast_leaf(new));
        when 'forecast_grades' then perform log_append('record', 'grade:' || new.seq, grade_leaf(new));
        when 'fetches' then perform log_append('sources', 'body:' || new.id, body_leaf(new));
    end case;
    return null;
end
$$;
-- +goose StatementEnd
create trigger log_record after insert on forecasts for each row execute function log_record();
create trigger log_record after insert on forecast_grades for each row execute function log_record();

-- +goose StatementBegin
create or replace function log_import(p_log text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf)
    select p_log, key, convert_to(leaf, 'UTF8') from (
        select 'pick:' || p.seq as key, pick_leaf(p, a.announced_at) as leaf, a.announced_at as at, 1 as kind, p.seq as n
        from picks p join announcements a using (seq) where p_log = 'record'
        union all
        select 'gap:' || g.date, gap_leaf(g), g.recorded_at, 2, 0 from gaps g where p_log = 'record'
        union all
        select 'correction:' || c.id, correction_leaf(c), c.recorded_at, 3, c.id from corrections c where p_log = 'record'
        union all
        select 'forecast:' || f.seq, forecast_leaf(f), f.issued_at, 4, f.seq from forecasts f where p_log = 'record'
        union all
        select 'grade:' || g.seq, grade_leaf(g), g.graded_at, 5, g.seq from forecast_grades g where p_log = 'record'
    ) past order by at, kind, n;
    insert into log_pending (log, key, leaf)
    select p_log, 'body:' || f.id, convert_to(body_leaf(f), 'UTF8')
    from fetches f where p_log = 'sources' and f.status in (200, 304) and not f.constructed order by f.id;
$$;
-- +goose StatementEnd

-- A log that goes on gets those that are there now.
insert into log_pending (log, key, leaf)
select 'record', key, convert_to(leaf, 'UTF8') from (
    select 'forecast:' || f.seq as key, forecast_leaf(f) as leaf, f.issued_at as at, 4 as kind, f.seq as n from forecasts f
    union all
    select 'grade:' || g.seq, grade_leaf(g), g.graded_at, 5, g.seq from forecast_grades g
) past where exists (select from log_heads where log = 'record') order by at, kind, n;

-- +goose Down
drop trigger log_record on forecast_grades;
drop trigger log_record on forecasts;
-- +goose StatementBegin
create or replace function log_record() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    case tg_table_name
        when 'announcements' then
            perform log_append('record', 'pick:' || p.seq, pick_leaf(p, new.announced_at)) from picks p where p.seq = new.seq;
        when 'gaps' then perform log_append('record', 'gap:' || new.date, gap_leaf(new));
        when 'corrections' then perform log_append('record', 'correction:' || new.id, correction_leaf(new));
        when 'fetches' then perform log_append('sources', 'body:' || new.id, body_leaf(new));
    end case;
    return null;
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function log_import(p_log text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf)
    select p_log, key, convert_to(leaf, 'UTF8') from (
        select 'pick:' || p.seq as key, pick_leaf(p, a.announced_at) as leaf, a.announced_at as at, 1 as kind, p.seq as n
        from picks p join announcements a using (seq) where p_log = 'record'
        union all
        select 'gap:' || g.date, gap_leaf(g), g.recorded_at, 2, 0 from gaps g where p_log = 'record'
        union all
        select 'correction:' || c.id, correction_leaf(c), c.recorded_at, 3, c.id from corrections c where p_log = 'record'
    ) past order by at, kind, n;
    insert into log_pending (log, key, leaf)
    select p_log, 'body:' || f.id, convert_to(body_leaf(f), 'UTF8')
    from fetches f where p_log = 'sources' and f.status in (200, 304) and not f.constructed order by f.id;
$$;
-- +goose StatementEnd
drop function grade_leaf(forecast_grades);
drop function forecast_leaf(forecasts);
