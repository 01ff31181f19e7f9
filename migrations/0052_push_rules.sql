-- Rules of keys that push changes to webhooks. What is sent is a row first; a task sends it, and a row says how that ended.

-- +goose Up
create table push_rules (
    id               bigint      generated always as identity primary key,
    public_id        text        collate "C" not null unique check (public_id ~ '^alert_[0-9a-z]{26}$'),
    key_id           bigint      not null references keys (id),
    topic            text        collate "C" not null check (topic ~ '^(signal:[a-z0-9-]+|pick|event|forecast)$'),
    rule             jsonb       not null check (jsonb_typeof(rule) = 'object'),
    url              text        not null check (length(url) <= 2048),
    -- They sign what is sent; the old one until its end. The API cannot read them.
    secret           text        not null,
    old_secret       text,
    old_secret_until timestamptz,
    -- Whether the rule can hold: one with a threshold holds once, until the number was back.
    armed            boolean     not null default true,
    -- Only what is pushed after this cursor counts.
    after            bigint      not null,
    created_at       timestamptz not null default clock_timestamp(),
    -- How the webhook stands: the failures in a row, since when, and when it is tried again.
    failures         int         not null default 0 check (failures >= 0),
    failing_since    timestamptz,
    next_try_at      timestamptz,
    disabled_at      timestamptz,
    disabled_reason  text        check (disabled_reason in ('gone', 'unreachable')),
    -- The run that sends at the moment, so that two never send for one rule.
    busy_run         bigint,
    busy_until       timestamptz,
    -- When the key last asked for a test or a replay.
    asked_at         timestamptz,
    constraint push_rules_failing check ((failures = 0) = (failing_since is null)),
    constraint push_rules_disabled check ((disabled_at is null) = (disabled_reason is null))
);
create index push_rules_of_key on push_rules (key_id);
create index push_rules_of_topic on push_rules (topic) where disabled_at is null;

-- What a rule sends. The unique key makes matching idempotent; message_id is the same for each attempt.
create table push_deliveries (
    id         bigint      generated always as identity primary key,
    rule_id    bigint      not null references push_rules (id) on delete cascade,
    -- The cursor of the change; null for a test.
    push_id    bigint,
    message_id text        collate "C" not null unique,
    body       text        not null,
    state      text        collate "C" not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'given_up')),
    attempts   int         not null default 0,
    status     int,
    fault      text,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null default clock_timestamp() + interval '3 days',
    tried_at   timestamptz,
    unique (rule_id, push_id)
);
create index push_deliveries_pending on push_deliveries (rule_id, push_id nulls first) where state = 'pending';
create index push_deliveries_by_age on push_deliveries (created_at);

-- push_match is the last cursor that was compared with the rules.
create table push_match (
    one  boolean primary key default true check (one),
    last bigint  not null
);
insert into push_match (last) select last from push_head;

-- webhook_check has a rule's webhook served. It has a queue of its own: no receiver that is slow can delay other work.
create function webhook_check(p_rule text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('webhook', p_rule, 'webhooks', 100, p_at) $$;

-- push_rules_most is how many rules all keys may have together. Some more may, where several come at one moment.
create function push_rules_most() returns int language sql immutable as $$ select 5000 $$;

-- create_push_rule adds a rule of a key. Outcomes: made; too_many, where the key has p_most; full, where all keys have push_rules_most();
-- unknown, where there is no such key that is good.
-- +goose StatementBegin
create function create_push_rule(p_key bigint, p_id text, p_topic text, p_rule jsonb, p_url text, p_secret text, p_most int) returns text
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

-- +goose StatementBegin
create function delete_push_rule(p_key bigint, p_id text) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    delete from push_rules r where r.key_id = p_key and r.public_id = p_id;
    return found;
end
$$;
-- +goose StatementEnd

-- rotate_push_secret gives a rule another secret. The old one signs, too, for p_keep. Null: the key has no such rule.
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

-- ask_push_rule locks a rule for a test or a replay. Outcomes: ok; unknown; too_soon, less than ten seconds after the last one.
-- +goose StatementBegin
create function ask_push_rule(p_key bigint, p_id text, out outcome text, out rule_id bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_asked timestamptz;
begin
    select r.id, r.asked_at into rule_id, v_asked from push_rules r where r.key_id = p_key and r.public_id = p_id for no key update;
    if not found then
        outcome := 'unknown';
    elsif v_asked > clock_timestamp() - interval '10 seconds' then
        outcome := 'too_soon';
    else
        update push_rules r set asked_at = clock_timestamp() where r.id = ask_push_rule.rule_id;
        outcome := 'ok';
    end if;
end
$$;
-- +goose StatementEnd

-- test_push_rule sends a test message at once. A rule that is disabled sends nothing.
-- +goose StatementBegin
create function test_push_rule(p_key bigint, p_id text, p_message text, p_body text) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_outcome text;
    v_rule    bigint;
begin
    if exists (select from push_rules r where r.key_id = p_key and r.public_id = p_id and r.disabled_at is not null) then
        return 'disabled';
    end if;
    select a.outcome, a.rule_id into v_outcome, v_rule from ask_push_rule(p_key, p_id) a;
    if v_outcome = 'ok' then
        insert into push_deliveries (rule_id, message_id, body) values (v_rule, p_message, p_body);
        perform webhook_check(p_id, clock_timestamp());
    end if;
    return v_outcome;
end
$$;
-- +goose StatementEnd

-- replay_push_rule sends again what a rule sent after a cursor, the newest p_most of it, and enables the rule. What waits already is counted, too.
-- +goose StatementBegin
create function replay_push_rule(p_key bigint, p_id text, p_after bigint, p_most int, out outcome text, out messages int)
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

revoke execute on function webhook_check, push_rules_most, create_push_rule, delete_push_rule, rotate_push_secret, ask_push_rule, test_push_rule,
    replay_push_rule from public;
grant execute on function create_push_rule, delete_push_rule, rotate_push_secret, test_push_rule, replay_push_rule to tidemark_api;
grant execute on function webhook_check to tidemark_worker;
grant select (id, public_id, key_id, topic, rule, url, after, created_at, failures, failing_since, next_try_at, disabled_at, disabled_reason)
    on push_rules to tidemark_api;
grant select on push_deliveries to tidemark_api;
grant select, delete on push_deliveries to tidemark_worker;
grant insert, update on push_deliveries to tidemark_worker;
grant select, update on push_rules, push_match to tidemark_worker;

-- +goose Down
drop table push_match;
drop table push_deliveries;
drop table push_rules;
drop function replay_push_rule(bigint, text, bigint, int);
drop function test_push_rule(bigint, text, text, text);
drop function ask_push_rule(bigint, text);
drop function rotate_push_secret(bigint, text, text, interval);
drop function delete_push_rule(bigint, text);
drop function create_push_rule(bigint, text, text, jsonb, text, text, int);
drop function push_rules_most();
drop function webhook_check(text, timestamptz);
