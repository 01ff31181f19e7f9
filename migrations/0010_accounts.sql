-- Keys, and the money and the plans that belong to them. What a key may spend is the sum of its ledger, and nothing else moves it. The
-- API's role reads, and executes the functions at the end: none of them takes the API's word for an amount that a key gains.

-- +goose Up

-- The time of keys and money. They concern people who wait, so it is the wall clock's in every world.
create function billing_now() returns timestamptz language sql volatile as 'select clock_timestamp()';

create table billing_settings (
    one   boolean primary key default true check (one),
    -- What a new key starts with, in micro-dollars.
    trial bigint  not null check (trial >= 0)
);
insert into billing_settings (trial) values (200000);

create table keys (
    id             bigint      generated always as identity primary key,
    -- What people and programs name the key by.
    public_id      text        not null unique check (public_id ~ '^key_[0-9a-z]{26}$'),
    name           text        not null check (char_length(name) between 1 and 100),
    created_at     timestamptz not null,
    -- The sum of the key's ledger, in micro-dollars. Only an insert into the ledger moves it.
    balance        bigint      not null default 0,
    -- The Pro plan ends here. Only an insert into plan_changes moves it.
    pro_until      timestamptz,
    revoked_at     timestamptz,
    revoked_by     text,
    revoked_reason text,
    check (num_nulls(revoked_at, revoked_by, revoked_reason) in (0, 3))
) with (fillfactor = 60);

-- What opens a key: the SHA-256 of the text that its holder has. Rotation adds one and lets the others end.
create table key_secrets (
    hash       bytea       primary key check (octet_length(hash) = 32),
    key_id     bigint      not null references keys (id),
    prefix     text        not null check (char_length(prefix) <= 16),
    created_at timestamptz not null,
    -- From here on it opens nothing. Null: it has no end.
    ends_at    timestamptz
);
create index key_secrets_of on key_secrets (key_id);

-- The money facts. Amounts are micro-dollars, as they change the balance.
create table ledger (
    id         bigint      generated always as identity,
    -- A key's: ledger_moves_balance sees to that, for all rows of a statement at once.
    key_id     bigint      not null,
    kind       text        not null check (kind in
        ('trial', 'charge', 'top_up', 'refund', 'dispute', 'transfer', 'reversal', 'credit', 'move')),
    amount     bigint      not null,
    at         timestamptz not null,
    -- Of a charge: what was answered.
    endpoint   text,
    request_id text,
    -- Which outside event, or which other key, it comes from.
    ref        text,
    -- Of an operator's doing: who, and why.
    by         text        check (by <> ''),
    reason     text        check (reason <> ''),
    primary key (key_id, id),
    constraint sign_of_kind check (case kind
        when 'trial' then amount > 0 when 'top_up' then amount > 0 when 'transfer' then amount > 0 when 'credit' then amount > 0
        when 'charge' then amount < 0 when 'refund' then amount < 0 when 'reversal' then amount < 0
        else amount <> 0 end),
    constraint facts_of_kind check (case kind
        when 'trial' then true
        when 'charge' then num_nulls(endpoint, request_id) = 0
        when 'credit' then num_nulls(by, reason) = 0
        when 'move' then num_nulls(ref, by, reason) = 0
        else ref is not null end)
);
create unique index ledger_one_trial on ledger (key_id) where kind = 'trial';
-- An event from outside counts once.
create unique index ledger_events on ledger (kind, ref) where kind in ('top_up', 'refund', 'dispute', 'transfer', 'reversal');

-- +goose StatementBegin
create function ledger_moves_balance() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_broke text;
    v_keys  bigint;
    v_moved bigint;
begin
    with moved as (
        select key_id, sum(amount) as amount, bool_or(amount < 0 and kind in ('charge', 'move')) as spends
        from added group by key_id
    ), changed as (
        update keys k set balance = k.balance + m.amount from moved m where k.id = m.key_id
        returning case when k.balance < 0 and m.spends then k.public_id end as broke
    )
    select string_agg(c.broke, ', '), count(*), (select count(*) from moved) into v_broke, v_moved, v_keys from changed c;
    if v_broke is not null then
        raise exception 'the balance of % does not cover this', v_broke using errcode = 'check_violation';
    end if;
    if v_moved <> v_keys then
        raise exception 'a ledger belongs to a key, and there is no such key' using errcode = 'foreign_key_violation';
    end if;
    return null;
end
$$;
-- +goose StatementEnd
create trigger ledger_moves_balance after insert on ledger referencing new table as added
    for each statement execute function ledger_moves_balance();
create trigger append_only before update or delete on ledger for each row execute function append_only();
create trigger append_only_truncate before truncate on ledger for each statement execute function append_only();

-- The facts about Pro periods.
create table plan_changes (
    id        bigint      generated always as identity,
    key_id    bigint      not null references keys (id),
    kind      text        not null check (kind in ('transfer', 'grant', 'reversal', 'move')),
    -- How much longer the key is Pro; how much shorter where negative.
    period    interval    not null,
    at        timestamptz not null,
    -- Until when the key is Pro by it.
    pro_until timestamptz not null,
    ref       text,
    by        text        check (by <> ''),
    reason    text        check (reason <> ''),
    primary key (key_id, id),
    constraint facts_of_kind check (case when kind in ('grant', 'move') then num_nulls(by, reason) = 0 else ref is not null end)
);
create unique index plan_changes_events on plan_changes (kind, ref) where kind in ('transfer', 'reversal');

-- A period is added to what is left, and begins now where nothing is left.
-- +goose StatementBegin
create function plan_changes_move_end() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    ends timestamptz;
begin
    select pro_until into ends from keys where id = new.key_id for no key update;
    new.at := billing_now();
    new.pro_until := case when new.period > interval '0' then greatest(ends, new.at) else coalesce(ends, new.at) end + new.period;
    update keys set pro_until = new.pro_until where id = new.key_id;
    return new;
end
$$;
-- +goose StatementEnd
create trigger plan_changes_move_end before insert on plan_changes for each row execute function plan_changes_move_end();
create trigger append_only before update or delete on plan_changes for each row execute function append_only();
create trigger append_only_truncate before truncate on plan_changes for each statement execute function append_only();

-- What a key is stays; its balance and its plan follow their facts; and what was revoked is revoked for ever.
-- +goose StatementBegin
create function keys_guard() returns trigger language plpgsql as $$
begin
    raise exception 'keys keep what they are, balances and plans follow their ledgers, and a revoked key stays revoked'
        using errcode = 'restrict_violation';
end
$$;
-- +goose StatementEnd
create trigger keys_stay before delete on keys for each row execute function keys_guard();
create trigger keys_stay_truncate before truncate on keys for each statement execute function keys_guard();
create trigger keys_same before update of id, public_id, created_at on keys for each row execute function keys_guard();
create trigger keys_follow before update of balance, pro_until on keys for each row
    when (pg_trigger_depth() = 0) execute function keys_guard();
create trigger keys_begin before insert on keys for each row
    when (new.balance <> 0 or new.pro_until is not null or new.revoked_at is not null) execute function keys_guard();
create trigger keys_stay_revoked before update of revoked_at, revoked_by, revoked_reason on keys for each row
    when (old.revoked_at is not null) execute function keys_guard();
create trigger key_secrets_stay before delete on key_secrets for each row execute function keys_guard();
create trigger key_secrets_stay_truncate before truncate on key_secrets for each statement execute function keys_guard();
create trigger key_secrets_same before update of hash, key_id, prefix, created_at on key_secrets for each row
    execute function keys_guard();
create trigger key_secrets_end before update of ends_at on key_secrets for each row
    when (coalesce(new.ends_at, 'infinity') > coalesce(old.ends_at, 'infinity')) execute function keys_guard();

-- Whoever holds a key in memory hears that it is another now. No notification is on the way of a charge.
-- +goose StatementBegin
create function keys_notify() returns trigger language plpgsql as $$
begin
    perform pg_notify('keys', case tg_table_name when 'keys' then to_jsonb(new) ->> 'id' else to_jsonb(new) ->> 'key_id' end);
    return null;
end
$$;
-- +goose StatementEnd
create trigger keys_notify after update of name, pro_until, revoked_at on keys for each row execute function keys_notify();
create trigger keys_notify after update on key_secrets for each row execute function keys_notify();

-- Requests that were answered, per key, UTC day and endpoint, and what they cost.
create table usage (
    key_id   bigint      not null references keys (id),
    day      date        not null,
    endpoint text        not null,
    requests bigint      not null,
    cost     bigint      not null,
    last_at  timestamptz not null,
    primary key (key_id, day, endpoint)
) with (fillfactor = 60);

-- Requests that were paid under an Idempotency-Key: for a while they are not paid again. The digest is of that key, path and query.
create table paid_requests (
    key_id     bigint      not null references keys (id),
    digest     bytea       not null check (octet_length(digest) = 32),
    expires_at timestamptz not null,
    primary key (key_id, digest)
);
create index paid_requests_expired on paid_requests (expires_at);

-- Answers to requests that changed something, for whoever asks again. The scope is a digest of the caller, the address and the
-- Idempotency-Key; the answer is sealed with the last of these, which is not kept: it may hold a key.
create table kept_answers (
    scope      bytea       primary key check (octet_length(scope) = 32),
    -- A digest of the request's body.
    request    bytea       not null check (octet_length(request) = 32),
    answer     bytea,
    expires_at timestamptz not null
);
create index kept_answers_expired on kept_answers (expires_at);

-- charge_requests takes the prices of many requests at once, each as if it came alone and in their order. A price that the balance does not
-- cover is refused, and one that was paid under the same digest is not taken again. Outcomes: charged, paid_before, refused, revoked,
-- unknown. The balance is the one after the request.
-- +goose StatementBegin
create function charge_requests(p_key bigint[], p_price bigint[], p_endpoint text[], p_request text[], p_digest bytea[], p_keep interval)
    returns table (outcome text, balance bigint) language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now     timestamptz;
    v_outcome text[] := array_fill(null::text, array[cardinality(p_key)]);
    v_after   bigint[] := array_fill(null::bigint, array[cardinality(p_key)]);
    v_key     bigint;
    v_left    bigint;
    v_taken   boolean := false;
    v_kept    boolean := false;
    v_seen    bytea[];
    r         record;
begin
    -- In the order of ids, so that two of these never wait for each other.
    perform from keys k where k.id = any(p_key) order by k.id for no key update;
    v_now := billing_now();
    for r in
        select a.place, a.key_id, a.price, a.digest, k.id is not null as known, k.revoked_at is not null as revoked, k.balance as had,
            a.digest is not null and exists (
                select from paid_requests p where p.key_id = a.key_id and p.digest = a.digest and p.expires_at > v_now) as paid
        from unnest(p_key, p_price, p_digest) with ordinality as a (key_id, price, digest, place)
        left join keys k on k.id = a.key_id
        order by a.key_id, a.place
    loop
        if r.price < 0 then
            raise exception 'a price is not negative' using errcode = 'check_violation';
        end if;
        if r.key_id is distinct from v_key then
            v_key := r.key_id;
            v_left := r.had;
            v_seen := '{}';
        end if;
        if not r.known then
            v_outcome[r.place] := 'unknown';
        elsif r.revoked then
            v_outcome[r.place] := 'revoked';
        elsif r.paid or (r.digest is not null and r.digest = any(v_seen)) then
            v_outcome[r.place] := 'paid_before';
        elsif r.price > 0 and v_left < r.price then
            v_outcome[r.place] := 'refused';
        else
            v_outcome[r.place] := 'charged';
            v_left := v_left - r.price;
            v_taken := true;
            if r.digest is not null and r.price > 0 then
                v_seen := v_seen || r.digest;
                v_kept := true;
            end if;
        end if;
        v_after[r.place] := v_left;
    end loop;
    if v_taken then
        insert into ledger (key_id, kind, amount, at, endpoint, request_id)
        select a.key_id, 'charge', -a.price, v_now, a.endpoint, a.request_id
        from unnest(p_key, p_price, p_endpoint, p_request, v_outcome) as a (key_id, price, endpoint, request_id, outcome)
        where a.outcome = 'charged' and a.price > 0;
        insert into usage as u (key_id, day, endpoint, requests, cost, last_at)
        select a.key_id, (v_now at time zone 'UTC')::date, a.endpoint, count(*), sum(a.price), v_now
        from unnest(p_key, p_price, p_endpoint, v_outcome) as a (key_id, price, endpoint, outcome)
        where a.outcome = 'charged'
        group by a.key_id, a.endpoint
        on conflict (key_id, day, endpoint) do update
        set requests = u.requests + excluded.requests, cost = u.cost + excluded.cost, last_at = excluded.last_at;
    end if;
    if v_kept then
        insert into paid_requests as p (key_id, digest, expires_at)
        select distinct a.key_id, a.digest, v_now + p_keep
        from unnest(p_key, p_price, p_digest, v_outcome) as a (key_id, price, digest, outcome)
        where a.outcome = 'charged' and a.price > 0 and a.digest is not null
        on conflict (key_id, digest) do update set expires_at = excluded.expires_at;
    end if;
    return query select o.outcome, o.after from unnest(v_outcome, v_after) with ordinality as o (outcome, after, place) order by o.place;
end
$$;
-- +goose StatementEnd

-- count_requests counts many requests against their keys' quotas of the UTC day, each as if it came alone and in their order. p_pro
-- says which of them were answered as the Pro plan's: where the key is Free by now, nothing is counted. Outcomes: counted, exhausted,
-- plan_changed, revoked, unknown.
-- +goose StatementBegin
create function count_requests(p_key bigint[], p_endpoint text[], p_pro boolean[], p_free_quota bigint, p_pro_quota bigint)
    returns table (outcome text, used bigint, seconds_left int) language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now     timestamptz;
    v_day     date;
    v_outcome text[] := array_fill(null::text, array[cardinality(p_key)]);
    v_used    bigint[] := array_fill(null::bigint, array[cardinality(p_key)]);
    v_key     bigint;
    v_count   bigint;
    r         record;
begin
    perform from keys k where k.id = any(p_key) order by k.id for no key update;
    v_now := billing_now();
    v_day := (v_now at time zone 'UTC')::date;
    for r in
        select a.place, a.key_id, a.pro, k.id is not null as known, k.revoked_at is not null as revoked,
            coalesce(k.pro_until > v_now, false) as is_pro,
            case when k.pro_until > v_now then p_pro_quota else p_free_quota end as quota,
            (select coalesce(sum(u.requests), 0) from usage u where u.key_id = a.key_id and u.day = v_day) as had
        from unnest(p_key, p_pro) with ordinality as a (key_id, pro, place)
        left join keys k on k.id = a.key_id
        order by a.key_id, a.place
    loop
        if r.key_id is distinct from v_key then
            v_key := r.key_id;
            v_count := r.had;
        end if;
        if not r.known then
            v_outcome[r.place] := 'unknown';
        elsif r.revoked then
            v_outcome[r.place] := 'revoked';
        elsif r.pro and not r.is_pro then
            v_outcome[r.place] := 'plan_changed';
        elsif v_count >= r.quota then
            v_outcome[r.place] := 'exhausted';
        else
            v_outcome[r.place] := 'counted';
            v_count := v_count + 1;
        end if;
        v_used[r.place] := v_count;
    end loop;
    insert into usage as u (key_id, day, endpoint, requests, cost, last_at)
    select a.key_id, v_day, a.endpoint, count(*), 0, v_now
    from unnest(p_key, p_endpoint, v_outcome) as a (key_id, endpoint, outcome)
    where a.outcome = 'counted'
    group by a.key_id, a.endpoint
    on conflict (key_id, day, endpoint) do update set requests = u.requests + excluded.requests, last_at = excluded.last_at;
    return query
    select o.outcome, o.used, ceil(extract(epoch from (v_day + 1)::timestamp at time zone 'UTC' - v_now))::int
    from unnest(v_outcome, v_used) with ordinality as o (outcome, used, place) order by o.place;
end
$$;
-- +goose StatementEnd

-- register_key makes a key with its trial balance.
-- +goose StatementBegin
create function register_key(p_public_id text, p_name text, p_hash bytea, p_prefix text)
    returns table (id bigint, balance bigint, created_at timestamptz)
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_id    bigint;
    v_now   timestamptz := billing_now();
    v_trial bigint := (select s.trial from billing_settings s);
begin
    insert into keys (public_id, name, created_at) values (p_public_id, p_name, v_now) returning keys.id into v_id;
    insert into key_secrets (hash, key_id, prefix, created_at) values (p_hash, v_id, p_prefix, v_now);
    if v_trial > 0 then
        insert into ledger (key_id, kind, amount, at) values (v_id, 'trial', v_trial, v_now);
    end if;
    return query select k.id, k.balance, k.created_at from keys k where k.id = v_id;
end
$$;
-- +goose StatementEnd

-- rotate_key gives the key that p_old opens another secret; those that it had end after p_grace, or sooner where they were to. It
-- returns no row where p_old opens nothing.
-- +goose StatementBegin
create function rotate_key(p_old bytea, p_hash bytea, p_prefix text, p_grace interval)
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

-- revoke_key ends a key for ever, and tells whether it did: false where it was revoked before, or is none.
-- +goose StatementBegin
create function revoke_key(p_key bigint, p_by text, p_reason text) returns boolean
    language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update keys k set revoked_at = billing_now(), revoked_by = p_by, revoked_reason = p_reason
    where k.id = p_key and k.revoked_at is null;
    return found;
end
$$;
-- +goose StatementEnd

-- begin_answer takes a scope for this transaction. Where an answer to the same request is kept it returns that; where the scope had
-- another request, only same = false. Whoever comes second waits for the first.
-- +goose StatementBegin
create function begin_answer(p_scope bytea, p_request bytea, p_keep interval) returns table (same boolean, answer bytea)
    language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into kept_answers as a (scope, request, expires_at) values (p_scope, p_request, billing_now() + p_keep)
    on conflict (scope) do update set request = excluded.request, answer = null, expires_at = excluded.expires_at
    where a.expires_at <= billing_now();
    return query
    select a.request = p_request, case when a.request = p_request then a.answer end from kept_answers a where a.scope = p_scope;
end
$$;
-- +goose StatementEnd

-- keep_answer keeps the answer for the scope that the transaction has taken.
-- +goose StatementBegin
create function keep_answer(p_scope bytea, p_answer bytea) returns void
    language sql security definer set search_path = public, pg_temp as $$
    update kept_answers set answer = p_answer where scope = p_scope and answer is null
$$;
-- +goose StatementEnd

revoke execute on function
    charge_requests, count_requests, register_key, rotate_key, revoke_key, begin_answer, keep_answer, ledger_moves_balance, plan_changes_move_end
    from public;
grant execute on function charge_requests, count_requests, register_key, rotate_key, revoke_key, begin_answer, keep_answer to tidemark_api;
grant execute on function revoke_key to tidemark_worker;

grant select on billing_settings, keys, key_secrets, ledger, plan_changes, usage to tidemark_api;
grant select on billing_settings, keys, key_secrets, ledger, plan_changes, usage, paid_requests, kept_answers to tidemark_worker;
grant insert on ledger, plan_changes to tidemark_worker;
grant delete on paid_requests, kept_answers to tidemark_worker;

-- +goose Down
drop function keep_answer, begin_answer, revoke_key, rotate_key, register_key, count_requests, charge_requests;
drop table kept_answers;
drop table paid_requests;
drop table usage;
drop table plan_changes;
drop table ledger;
drop table key_secrets;
drop table keys;
drop table billing_settings;
drop function keys_notify, keys_guard, plan_changes_move_end, ledger_moves_balance, billing_now;
