-- An alert loses nothing while it is disabled: what it selects is stored all the same, and a replay sends it. An alert about a number that is made
-- while the number is beyond its threshold waits until the number was back.

-- +goose Up
drop index push_rules_of_topic;
create index push_rules_of_topic on push_rules (topic);

-- push_rule_armed reports whether a new rule can hold at once: a rule about a number cannot while the newest snapshot is beyond its threshold.
create function push_rule_armed(p_rule jsonb) returns boolean language sql stable set search_path = public, pg_temp as $$
    select coalesce((
        select not coalesce(n.f > (p_rule ->> 'above')::double precision or n.f < (p_rule ->> 'below')::double precision, false)
        from (
            select case p_rule ->> 'on' when 'value' then s.value else s.z_score end as f from snapshots s
            where s.signal = p_rule ->> 'signal' order by s.at desc limit 1
        ) n
        where p_rule ->> 'on' in ('value', 'z_score') and n.f <> 'NaN'), true)
$$;

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
    -- One statement: the cursor and the number that it is compared with are of one moment.
    insert into push_rules (public_id, key_id, topic, rule, url, secret, armed, after)
    select p_id, p_key, p_topic, p_rule, p_url, p_secret, push_rule_armed(p_rule), h.last from push_head h;
    return 'made';
end
$$;
-- +goose StatementEnd

-- replay_push_rule sends what a rule selected after a cursor, the oldest p_most of it, and enables the rule. What waits already is counted, too.
-- The receiver has what came up to the cursor, so nothing of that is sent any more. Outcomes: ok; unknown; too_soon; ahead, where no change has
-- the cursor yet.
-- +goose StatementBegin
create or replace function replay_push_rule(p_key bigint, p_id text, p_after bigint, p_most int, out outcome text, out messages int)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_rule bigint;
begin
    if p_after > (select h.last from push_head h) then
        outcome := 'ahead';
        return;
    end if;
    select a.outcome, a.rule_id into outcome, v_rule from ask_push_rule(p_key, p_id) a;
    if outcome <> 'ok' then
        return;
    end if;
    update push_rules r set failures = 0, failing_since = null, next_try_at = null, disabled_at = null, disabled_reason = null where r.id = v_rule;
    update push_deliveries d set state = 'given_up' where d.rule_id = v_rule and d.state = 'pending' and d.push_id <= p_after;
    with again as (
        select d.id from push_deliveries d where d.rule_id = v_rule and d.push_id > p_after order by d.push_id limit p_most
    )
    update push_deliveries d set state = 'pending', expires_at = clock_timestamp() + interval '3 days'
    from again a where d.id = a.id;
    get diagnostics messages = row_count;
    perform webhook_check(p_id, clock_timestamp());
end
$$;
-- +goose StatementEnd

revoke execute on function push_rule_armed from public;
grant select (armed) on push_rules to tidemark_api;

-- +goose Down
revoke select (armed) on push_rules from tidemark_api;
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

-- +goose StatementBegin
create or replace function replay_push_rule(p_key bigint, p_id text, p_after bigint, p_most int, out outcome text, out messages int)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_rule bigint;
begin
    select a.outcome, a.rule_id into outcome, v_rule from ask_push_rule(p_key, p_id) a;
    if outcome <> 'ok' then
        return;
    end if;
    update push_rules r set failures = 0, failing_since = null, next_try_at = null, disabled_at = null, disabled_reason = null,
        after = case when r.disabled_at is null then r.after else (select h.last from push_head h) end
    where r.id = v_rule;
    with again as (
        select d.id from push_deliveries d where d.rule_id = v_rule and d.push_id > p_after order by d.push_id desc limit p_most
    )
    update push_deliveries d set state = 'pending', expires_at = clock_timestamp() + interval '3 days'
    from again a where d.id = a.id;
    get diagnostics messages = row_count;
    perform webhook_check(p_id, clock_timestamp());
end
$$;
-- +goose StatementEnd

drop function push_rule_armed(jsonb);
drop index push_rules_of_topic;
create index push_rules_of_topic on push_rules (topic) where disabled_at is null;
