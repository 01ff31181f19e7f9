-- An observation that its publisher withdraws is a revision: the signal goes back to an earlier observation, or to none. It is no new print.

-- +goose Up
-- +goose StatementBegin
create or replace function push_snapshot() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
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
        case when new.observed_at > before.observed_at or before.observed_at is null and new.observed_at is not null then 'new_print'
             when before.observed_at is distinct from new.observed_at or before.value is distinct from new.value then 'revision'
             when before.status is distinct from new.status then 'status'
             else 'update' end,
        new.signal, jsonb_build_object('as_of', new.at, 'status', new.status, 'observed_at', new.observed_at, 'value', new.value, 'lo', new.lo,
            'hi', new.hi, 'baseline', new.baseline, 'z_score', new.z_score, 'previous_value', before.value, 'previous_status', before.status,
            'synthetic', new.synthetic));
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function push_snapshot() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
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
