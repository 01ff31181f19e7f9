-- Requests of browsers, which load a page again.

-- +goose Up

-- count_request_once is count_requests for one request that is not counted again for a while: paid_before where the same digest was counted
-- within that time.
-- +goose StatementBegin
create function count_request_once(p_key bigint, p_endpoint text, p_pro boolean, p_free_quota bigint, p_pro_quota bigint, p_digest bytea, p_keep interval)
    returns table (outcome text, used bigint, seconds_left int) language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz;
    r     record;
begin
    perform from keys k where k.id = p_key for no key update;
    v_now := billing_now();
    if exists (select from paid_requests p where p.key_id = p_key and p.digest = p_digest and p.expires_at > v_now)
        and exists (select from keys k where k.id = p_key and k.revoked_at is null) then
        return query
        select 'paid_before'::text, (
                select coalesce(sum(u.requests), 0)::bigint from usage u where u.key_id = p_key and u.day = (v_now at time zone 'UTC')::date),
            ceil(extract(epoch from ((v_now at time zone 'UTC')::date + 1)::timestamp at time zone 'UTC' - v_now))::int;
        return;
    end if;
    for r in select c.outcome, c.used, c.seconds_left
        from count_requests(array[p_key], array[p_endpoint], array[p_pro], p_free_quota, p_pro_quota) c
    loop
        if r.outcome = 'counted' then
            insert into paid_requests as p (key_id, digest, expires_at) values (p_key, p_digest, v_now + p_keep)
            on conflict (key_id, digest) do update set expires_at = excluded.expires_at;
        end if;
        return query select r.outcome, r.used, r.seconds_left;
    end loop;
end
$$;
-- +goose StatementEnd
revoke execute on function count_request_once from public;
grant execute on function count_request_once to tidemark_api;

-- +goose Down
drop function count_request_once;
