-- A text of a key that was replaced only reads until it ends: it gives the key no other text, and does not revoke it.

-- +goose Up

-- rotate_key gives the key that p_old opens another secret; those that it had end after p_grace, or sooner where they were to. It
-- returns no row where p_old opens nothing, or has an end.
-- +goose StatementBegin
create or replace function rotate_key(p_old bytea, p_hash bytea, p_prefix text, p_grace interval)
    returns table (created_at timestamptz, old_ends_at timestamptz)
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_id  bigint;
    v_now timestamptz;
begin
    select k.id into v_id from key_secrets s join keys k on k.id = s.key_id
    where s.hash = p_old and k.revoked_at is null
    for no key update of k;
    v_now := billing_now();
    if v_id is null or not exists (select from key_secrets s where s.hash = p_old and s.ends_at is null) then
        return;
    end if;
    if p_grace < interval '0' then
        raise exception 'a grace is not negative' using errcode = 'check_violation';
    end if;
    update key_secrets s set ends_at = v_now + p_grace where s.key_id = v_id and coalesce(s.ends_at, 'infinity') > v_now + p_grace;
    insert into key_secrets (hash, key_id, prefix, created_at) values (p_hash, v_id, p_prefix, v_now);
    return query select v_now, v_now + p_grace;
end
$$;
-- +goose StatementEnd

-- revoke_own_key ends the key that p_secret opens, for ever. It tells whether the text may do so: false where it opens nothing, or has an
-- end.
-- +goose StatementBegin
create function revoke_own_key(p_secret bytea, p_reason text) returns boolean
    language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update keys k set revoked_at = billing_now(), revoked_by = 'holder', revoked_reason = p_reason
    from key_secrets s
    where s.hash = p_secret and s.ends_at is null and k.id = s.key_id and k.revoked_at is null;
    return found;
end
$$;
-- +goose StatementEnd

revoke execute on function revoke_own_key from public;
grant execute on function revoke_own_key to tidemark_api;
-- The API ends no key whose text it was not shown.
revoke execute on function revoke_key from tidemark_api;

-- +goose Down
grant execute on function revoke_key to tidemark_api;
drop function revoke_own_key;
-- +goose StatementBegin
create or replace function rotate_key(p_old bytea, p_hash bytea, p_prefix text, p_grace interval)
    returns table (created_at timestamptz, old_ends_at timestamptz)
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_id  bigint;
    v_now timestamptz;
begin
    select k.id into v_id from key_secrets s join keys k on k.id = s.key_id
    where s.hash = p_old and k.revoked_at is null
    for no key update of k;
    v_now := billing_now();
    if v_id is null or not exists (select from key_secrets s where s.hash = p_old and coalesce(s.ends_at > v_now, true)) then
        return;
    end if;
    if p_grace < interval '0' then
        raise exception 'a grace is not negative' using errcode = 'check_violation';
    end if;
    update key_secrets s set ends_at = v_now + p_grace where s.key_id = v_id and coalesce(s.ends_at, 'infinity') > v_now + p_grace;
    insert into key_secrets (hash, key_id, prefix, created_at) values (p_hash, v_id, p_prefix, v_now);
    return query select v_now, v_now + p_grace;
end
$$;
-- +goose StatementEnd
