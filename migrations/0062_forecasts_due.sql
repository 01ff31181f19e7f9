-- The database works out itself what the print of a forecast is and when it is due: from figure and period, which the hash covers. The
-- columns series, observed_at and scheduled_at must say the same. A forecast of no print, after its print, or of quantiles that descend is
-- refused. So is a grade without an observation, with other scores than those of the recorded quantiles, or of a print that may still come.

-- +goose Up

-- forecast_figures are the figures as signals/forecast has them, one row for each form of a period:
--   day    2026-11-20, on_units are the days of the week (1 is Monday)
--   month  2026-11, on_units are the months
--   final  2026-final
-- A value of any of prints about the period tells that the figure is printed, and so does one less than reach before it. due counts from the
-- period's date by the clock of zone. void_after is how long after that a print may come.
-- +goose StatementBegin
create function forecast_figures() returns table (signal text, figure text, form text, on_units int[], series text, prints text[], reach interval,
    due interval, zone text, void_after interval, decimals int) language sql immutable as $$
    values
        ('eia-weekly-petroleum', 'crude_stocks_change', 'day', '{5}'::int[], 'eia.WCESTUS1', '{eia.WCESTUS1}'::text[], '0'::interval,
            '5 days 10:30'::interval, 'America/New_York', '720 hours'::interval, 1),
        ('eia-weekly-petroleum', 'gasoline_stocks_change', 'day', '{5}', 'eia.WGTSTUS1', '{eia.WGTSTUS1}', '0',
            '5 days 10:30', 'America/New_York', '720 hours', 1),
        ('eia-weekly-petroleum', 'distillate_stocks_change', 'day', '{5}', 'eia.WDISTUS1', '{eia.WDISTUS1}', '0',
            '5 days 10:30', 'America/New_York', '720 hours', 1),
        ('hormuz-transit', 'ships_week', 'day', '{7}', 'portwatch.chokepoint6.n_total', '{portwatch.chokepoint6.n_total}', '0',
            '2 days 13:35', 'UTC', '720 hours', 3),
        -- A Monday without prices is a holiday: the last priced day of its week counts.
        ('crack-spread-321', 'spread', 'day', '{1}', 'eia.RWTC', '{eia.RWTC}', '168 hours',
            '2 days 10:30', 'America/New_York', '720 hours', 3),
        ('lng-arbitrage', 'margin_europe', 'month', '{1,2,3,4,5,6,7,8,9,10,11,12}', 'worldbank.NGAS_EUR', '{worldbank.NGAS_EUR}', '0',
            '1 month 1 day', 'UTC', '720 hours', 4),
        ('iowa-corn-yield', 'next_print', 'month', '{8,9,10,11}', 'nass.IA.CORN.YIELD.FORECAST', '{nass.IA.CORN.YIELD.FORECAST}', '0',
            '7 days 12:00', 'America/New_York', '240 hours', 1),
        ('iowa-corn-yield', 'next_print', 'final', '{}', 'nass.IA.CORN.YIELD.FINAL', '{nass.IA.CORN.YIELD.FINAL}', '0',
            '1 year 7 days 12:00', 'America/New_York', '240 hours', 1),
        -- A grid has all regions; a cloudy month may lack one.
        ('tropomi-no2-economic', 'index', 'month', '{1,2,3,4,5,6,7,8,9,10,11,12}', 'temis.NO2.yangtze',
            '{temis.NO2.yangtze,temis.NO2.pearl,temis.NO2.benelux_ruhr,temis.NO2.po,temis.NO2.delhi,temis.NO2.tokyo,temis.NO2.houston,temis.NO2.new_york,temis.NO2.version}',
            '0', '1 month 14 days', 'UTC', '1440 hours', 2)
$$;
-- +goose StatementEnd

-- forecast_due is the print of a figure and period: no row where there is no such print.
-- +goose StatementBegin
create function forecast_due(p_signal text, p_figure text, p_period text) returns table (series text, prints text[], reach interval,
    observed_at timestamptz, scheduled_at timestamptz, void_at timestamptz, decimals int) language sql stable set search_path = public, pg_temp as $$
    select f.series, f.prints, f.reach, d.day at time zone 'UTC', d.at, d.at + f.void_after, f.decimals
    from forecast_figures() f
    cross join lateral (select case
        when f.form = 'day' and p_period ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' then p_period::date::timestamp
        when f.form = 'month' and p_period ~ '^[0-9]{4}-[0-9]{2}$' then (p_period || '-01')::date::timestamp
        when f.form = 'final' and p_period ~ '^[0-9]{4}-final$' then (left(p_period, 4) || '-01-01')::date::timestamp end as day) o
    cross join lateral (select o.day, (o.day + f.due) at time zone f.zone as at) d
    where f.signal = p_signal and f.figure = p_figure and d.day is not null
        and case f.form when 'day' then extract(isodow from d.day) = any(f.on_units) when 'month' then extract(month from d.day) = any(f.on_units) else true end
$$;
-- +goose StatementEnd

-- forecast_score is the CRPS of 23 quantiles, as docs/forecasts.md has it, exactly.
-- +goose StatementBegin
create function forecast_score(quantiles text, outcome numeric) returns numeric language sql immutable as $$
    select 2 * sum(v * case when outcome >= q::numeric then p * (outcome - q::numeric) else (1 - p) * (q::numeric - outcome) end)
    from unnest(string_to_array(quantiles, ';'),
        '{.01,.025,.05,.1,.15,.2,.25,.3,.35,.4,.45,.5,.55,.6,.65,.7,.75,.8,.85,.9,.95,.975,.99}'::numeric[],
        '{.0175,.02,.0375,.05,.05,.05,.05,.05,.05,.05,.05,.05,.05,.05,.05,.05,.05,.05,.05,.05,.0375,.02,.0175}'::numeric[]) l (q, p, v)
$$;
-- +goose StatementEnd

-- The hash, the link and the date are checked by the guard of 0043, which runs before this one, by name.
-- +goose StatementBegin
create function forecasts_guard_print() returns trigger language plpgsql set search_path = public, pg_temp as $$
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

-- +goose StatementBegin
create function forecast_grades_guard_print() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    f   forecasts%rowtype;
    due record;
begin
    select * into f from forecasts where id = new.id;
    select * into due from forecast_due(f.signal, f.figure, f.period);
    if not found then
        raise exception 'the grade of % is refused: there is no such print', new.id using errcode = 'restrict_violation';
    end if;
    if new.outcome = '' then
        if world_now() < due.void_at or new.published_at < due.void_at then
            raise exception 'the grade of % is refused: its print may come until %', new.id, utc_text(due.void_at) using errcode = 'restrict_violation';
        end if;
        return new;
    end if;
    if not exists (select from observations o where o.series = any(due.prints) and o.observed_at <= due.observed_at
            and (o.observed_at = due.observed_at or o.observed_at > due.observed_at - due.reach)
            and o.value is not null and o.vintage_at < new.published_at + interval '1 second') then
        raise exception 'the grade of % is refused: no print is known', new.id using errcode = 'restrict_violation';
    end if;
    if (new.score::numeric, new.score1::numeric, new.score2::numeric) is distinct from (forecast_score(f.quantiles, new.outcome::numeric),
        forecast_score(f.naive1, new.outcome::numeric), forecast_score(f.naive2, new.outcome::numeric)) then
        raise exception 'the grade of % is refused: its scores are not those of its quantiles', new.id using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd

create trigger guard_print before insert on forecasts for each row execute function forecasts_guard_print();
create trigger guard_print before insert on forecast_grades for each row execute function forecast_grades_guard_print();

-- +goose Down
drop trigger guard_print on forecast_grades;
drop trigger guard_print on forecasts;
drop function forecast_grades_guard_print();
drop function forecasts_guard_print();
drop function forecast_score(text, numeric);
drop function forecast_due(text, text, text);
drop function forecast_figures();
