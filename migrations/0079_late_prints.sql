-- A print that comes once a forecast is void does not count, whenever the job runs. What an import brings was graded by the rule of its time.

-- +goose Up

-- +goose StatementBegin
create function forecast_grades_guard_late() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    f   forecasts%rowtype;
    due record;
begin
    if new.outcome = '' or new.restored then
        return new;
    end if;
    select * into f from forecasts where id = new.id;
    select * into due from forecast_due(f.signal, f.figure, f.period);
    if new.published_at >= due.void_at then
        raise exception 'the grade of % is refused: it is void since %', new.id, utc_text(due.void_at) using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd

create trigger guard_late before insert on forecast_grades for each row execute function forecast_grades_guard_late();

-- +goose Down
drop trigger guard_late on forecast_grades;
drop function forecast_grades_guard_late();
