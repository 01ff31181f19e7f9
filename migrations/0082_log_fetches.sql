-- The leaves of all fetches of a statement are added by one statement. A row at a time each leaf took a call of log_record, one of log_append, and
-- an INSERT of its own.

-- +goose Up

-- log_fetches adds a leaf for each archived body of a statement, in the order of the fetches. A leaf whose key the log has already, and a log
-- that has not begun, are log_append's: it returns nothing, so that nothing is added here. What a recording tool built is no publisher's answer,
-- and an error's page is no body.
-- +goose StatementBegin
create function log_fetches() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into log_pending (log, key, leaf, formed)
    select 'sources', l.key, convert_to(l.leaf, 'UTF8'), true
    from (
        select f.id, 'body:' || f.id as key, body_leaf(row(f.*)::fetches) as leaf
        from added f where f.status in (200, 304) and not f.constructed offset 0
    ) l
    where case
        when exists (select from log_heads where log = 'sources')
            and (select e.idx from log_entries e where e.log = 'sources' and e.key = l.key) is null then true
        else log_append('sources', l.key, l.leaf)::text <> '' end
    order by l.id;
    return null;
end
$$;
-- +goose StatementEnd
drop trigger log_record on fetches;
create trigger log_fetches after insert on fetches referencing new table as added for each statement execute function log_fetches();

-- log_record is that of 0050 without the fetches.
-- +goose StatementBegin
create or replace function log_record() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    case tg_table_name
        when 'announcements' then
            perform reveal_pick(new.seq, new.announced_at);
            perform log_append('record', 'pick:' || p.seq, pick_leaf(p, new.announced_at)) from picks p where p.seq = new.seq;
        when 'gaps' then perform log_append('record', 'gap:' || new.date, gap_leaf(new));
        when 'corrections' then perform log_append('record', 'correction:' || new.id, correction_leaf(new));
        when 'forecasts' then perform log_append('record', 'forecast:' || new.seq, forecast_leaf(new));
        when 'forecast_grades' then perform log_append('record', 'grade:' || new.seq, grade_leaf(new));
        when 'methods' then perform log_append('record', 'method:' || new.id, method_leaf(new));
    end case;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function log_record() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    case tg_table_name
        when 'announcements' then
            perform reveal_pick(new.seq, new.announced_at);
            perform log_append('record', 'pick:' || p.seq, pick_leaf(p, new.announced_at)) from picks p where p.seq = new.seq;
        when 'gaps' then perform log_append('record', 'gap:' || new.date, gap_leaf(new));
        when 'corrections' then perform log_append('record', 'correction:' || new.id, correction_leaf(new));
        when 'forecasts' then perform log_append('record', 'forecast:' || new.seq, forecast_leaf(new));
        when 'forecast_grades' then perform log_append('record', 'grade:' || new.seq, grade_leaf(new));
        when 'methods' then perform log_append('record', 'method:' || new.id, method_leaf(new));
        when 'fetches' then perform log_append('sources', 'body:' || new.id, body_leaf(new));
    end case;
    return null;
end
$$;
-- +goose StatementEnd
drop trigger log_fetches on fetches;
drop function log_fetches();
create trigger log_record after insert on fetches for each row
    when (new.status in (200, 304) and not new.constructed) execute function log_record();
