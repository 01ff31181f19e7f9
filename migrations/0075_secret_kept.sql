-- The old secret of an alert signs as long as its owner was told: no other rotation ends it before.

-- +goose Up
-- rotate_push_secret gives a rule another secret. The old one signs, too, for p_keep. While an old one still signs, nothing is changed: refused is
-- true, and until is its end. until is null if the key has no such rule.
drop function rotate_push_secret(bigint, text, text, interval);
-- +goose StatementBegin
create function rotate_push_secret(p_key bigint, p_id text, p_secret text, p_keep interval, out until timestamptz, out refused boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    select r.old_secret_until into until from push_rules r where r.key_id = p_key and r.public_id = p_id for no key update;
    refused := coalesce(until > clock_timestamp(), false);
    if refused then
        return;
    end if;
    update push_rules r set old_secret = r.secret, old_secret_until = clock_timestamp() + p_keep, secret = p_secret
    where r.key_id = p_key and r.public_id = p_id returning r.old_secret_until into until;
end
$$;
-- +goose StatementEnd
revoke execute on function rotate_push_secret from public;
grant execute on function rotate_push_secret to tidemark_api;

-- +goose Down
drop function rotate_push_secret(bigint, text, text, interval);
-- +goose StatementBegin
create function rotate_push_secret(p_key bigint, p_id text, p_secret text, p_keep interval) returns timestamptz
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_until timestamptz;
begin
    update push_rules r set old_secret = r.secret, old_secret_until = clock_timestamp() + p_keep, secret = p_secret
    where r.key_id = p_key and r.public_id = p_id returning r.old_secret_until into v_until;
    return v_until;
end
$$;
-- +goose StatementEnd
revoke execute on function rotate_push_secret from public;
grant execute on function rotate_push_secret to tidemark_api;
