-- A forecast that rests on made-up figures says so for good: it is never changed, and no hash covers that mark.

-- +goose Up

-- +goose StatementBegin
create function forecasts_guard_made_up() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    if not new.synthetic and exists (
        select from (select distinct o.fetch_id from observations o where o.series = new.series) o join fetches f on f.id = o.fetch_id where f.synthetic) then
        raise exception 'the forecast % is refused: its figure is made up, and it does not say so', new.id using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd

-- Triggers fire by name: the print is known to be that of figure and period by then.
create trigger guard_synthetic before insert on forecasts for each row execute function forecasts_guard_made_up();

-- +goose Down
drop trigger guard_synthetic on forecasts;
drop function forecasts_guard_made_up();
