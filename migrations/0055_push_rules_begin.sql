-- A rule misses nothing after the cursor that it names: while it is made, nothing is compared with the rules.

-- +goose Up
-- +goose StatementBegin
create or replace function create_push_rule(p_key bigint, p_id text, p_topic text, p_rule jsonb, p_url text, p_secret text, p_most int) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if (select count(*) from push_rules r where r.key_id = p_key) >= p_most then
        return 'too_many'; -- without a lock: what is refused writes nothing
    end if;
    perform from keys k where k.id = p_key and k.revoked_at is null for no key update;
    if not found then
        return 'unknown';
    end if;
    if (select count(*) from push_rules r where r.key_id = p_key) >= p_most then
        return 'too_many';
    end if;
    if (select count(*) from push_rules r join keys k on k.id = r.key_id where k.revoked_at is null) >= push_rules_most() then
        return 'full';
    end if;
    perform from push_match for share;
    insert into push_rules (public_id, key_id, topic, rule, url, secret, after)
    select p_id, p_key, p_topic, p_rule, p_url, p_secret, h.last from push_head h;
    return 'made';
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function create_push_rule(p_key bigint, p_id text, p_topic text, p_rule jsonb, p_url text, p_secret text, p_most int) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if (select count(*) from push_rules r where r.key_id = p_key) >= p_most then
        return 'too_many'; -- without a lock: what is refused writes nothing
    end if;
    perform from keys k where k.id = p_key and k.revoked_at is null for no key update;
    if not found then
        return 'unknown';
    end if;
    if (select count(*) from push_rules r where r.key_id = p_key) >= p_most then
        return 'too_many';
    end if;
    if (select count(*) from push_rules r join keys k on k.id = r.key_id where k.revoked_at is null) >= push_rules_most() then
        return 'full';
    end if;
    insert into push_rules (public_id, key_id, topic, rule, url, secret, after)
    select p_id, p_key, p_topic, p_rule, p_url, p_secret, h.last from push_head h;
    return 'made';
end
$$;
-- +goose StatementEnd
