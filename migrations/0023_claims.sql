-- A transfer belongs to who sent it: a sender's signature wins for seven days after the grant, unless the amount was the claimant's own.
-- What strangers can ask for as often as they like has workers of its own, and is bounded.

-- +goose Up

-- The amount was one that the claimant held when the transfer was made.
alter table payment_transfers add column quoted boolean not null default false;
-- When the chain was looked at for it last. Null: not yet.
alter table payment_claims add column looked_at timestamptz;
create index payment_claims_waiting on payment_claims (created_at) where state in ('pending', 'revoked');

-- +goose StatementBegin
create function amount_was_held(p_key bigint, p_amount bigint, p_at timestamptz) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
    -- The chain's clock may be a minute behind ours.
    select exists (
        select from payment_quotes q where q.key_id = p_key and q.amount = p_amount and q.held && tstzrange(p_at, p_at + interval '1 minute', '[]'))
$$;
-- +goose StatementEnd

alter table payment_transfers disable trigger payment_transfers_pay;
update payment_transfers t set quoted = true where amount_was_held(t.key_id, t.amount, t.block_time);
alter table payment_transfers enable trigger payment_transfers_pay;

-- A grant is what it brings: the two are one statement. One that was confirmed ends for one reason alone: its sender has signed for another
-- key in time.
-- +goose StatementBegin
create or replace function payment_transfers_pay() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ref text := format('eip155:%s/%s/%s#%s', new.chain_id, new.tx_hash, new.log_index, new.id);
    v_why text;
begin
    if tg_op = 'INSERT' then
        if new.state = 'revoked' or not exists (
            select from payment_claims c
            where c.id = new.claim_id and (c.key_id, c.chain_id, c.tx_hash) = (new.key_id, new.chain_id, new.tx_hash)) then
            raise exception 'a grant begins as provisional or confirmed, and is that of its claim' using errcode = 'restrict_violation';
        end if;
        new.granted_at := billing_now();
        new.quoted := amount_was_held(new.key_id, new.amount, new.block_time);
        if exists (
            select from payment_transfers t
            where (t.chain_id, t.tx_hash, t.log_index, t.state, t.reason) = (new.chain_id, new.tx_hash, new.log_index, 'revoked', 'sender_proved')) then
            v_why := 'the sender signed for this key: the transfer was another key''s before';
        end if;
        if new.gives = 'pro' then
            select coalesce(k.pro_until > new.granted_at, false) into new.extended from keys k where k.id = new.key_id for no key update;
            insert into plan_changes (key_id, kind, period, ref, reason) values (new.key_id, 'transfer', interval '30 days', v_ref, v_why)
            returning plan_changes.pro_until into new.pro_until;
        else
            insert into ledger (key_id, kind, amount, at, ref, reason) values (new.key_id, 'transfer', new.amount, new.granted_at, v_ref, v_why);
            select k.balance into new.balance from keys k where k.id = new.key_id;
        end if;
        return new;
    end if;
    if old.state = 'revoked' or to_jsonb(new) - '{state,reason,ended_at}'::text[] <> to_jsonb(old) - '{state,reason,ended_at}'::text[]
        or new.reason = 'sender_proved' and (old.proven or old.quoted)
        or old.state = 'confirmed' and not (
            new.state = 'revoked' and new.reason = 'sender_proved' and billing_now() < old.granted_at + interval '7 days 1 hour') then
        raise exception 'grant % is %: it stays as it is', old.id, old.state using errcode = 'restrict_violation';
    end if;
    if new.state <> 'provisional' then
        new.ended_at := billing_now();
    end if;
    if new.state = 'revoked' then
        v_why := case new.reason when 'sender_proved' then 'the sender signed for another key, which has the transfer now'
            else 'the transfer is no longer on the chain' end;
        if new.gives = 'pro' then
            insert into plan_changes (key_id, kind, period, ref, reason) values (new.key_id, 'reversal', -interval '30 days', v_ref, v_why);
        else
            insert into ledger (key_id, kind, amount, at, ref, reason) values (new.key_id, 'reversal', -new.amount, new.ended_at, v_ref, v_why);
        end if;
    end if;
    return new;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function payment_claims_guard() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.state <> 'pending' then
            raise exception 'a claim begins as pending, not as %', new.state using errcode = 'restrict_violation';
        end if;
        return new;
    end if;
    if (new.id, new.key_id, new.chain_id, new.tx_hash, new.created_at)
            is distinct from (old.id, old.key_id, old.chain_id, old.tx_hash, old.created_at) then
        raise exception 'claim % stays what it is', old.id using errcode = 'restrict_violation';
    end if;
    if new.state <> old.state and (old.state, new.state) not in (
        ('pending', 'provisional'), ('pending', 'confirmed'), ('pending', 'rejected'), ('pending', 'expired'),
        ('provisional', 'confirmed'), ('provisional', 'revoked'),
        -- The sender has signed for another key.
        ('confirmed', 'revoked'),
        ('revoked', 'provisional'), ('revoked', 'confirmed'), ('revoked', 'rejected'), ('revoked', 'expired'),
        -- Asked for once more.
        ('rejected', 'pending'), ('expired', 'pending'), ('revoked', 'pending')
    ) then
        raise exception 'claim % is %: it cannot become %', old.id, old.state, new.state using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd

-- claims_most is how many claims of all keys may wait for their transactions at a time. Some more may, where several come at one moment.
create function claims_most() returns int language sql immutable as $$ select 2000 $$;

-- claim_transfer writes down that a key claims a transaction, or claims it once more, and has the chain asked: at once, or two seconds after
-- it was asked for this transaction last. Outcomes: asked; granted, where it is already; too_many, where p_most claims of the key wait; full,
-- where claims_most() of all keys wait and none of them can make room; unknown, where there is no such key that is good. The oldest claim
-- whose transaction no block had makes room for a new one.
-- +goose StatementBegin
create or replace function claim_transfer(p_key bigint, p_chain bigint, p_tx text, p_signature text, p_most int, p_keep interval)
    returns table (outcome text, claim_id bigint, asked_at timestamptz)
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz;
    v     payment_claims;
begin
    perform from keys k where k.id = p_key and k.revoked_at is null for no key update;
    if not found then
        return query select 'unknown', null::bigint, null::timestamptz;
        return;
    end if;
    v_now := billing_now();
    select * into v from payment_claims c where c.chain_id = p_chain and c.tx_hash = p_tx and c.key_id = p_key for no key update;
    if v.state in ('provisional', 'confirmed') then
        return query select 'granted', v.id, v.asked_at;
        return;
    end if;
    if coalesce(v.state not in ('pending', 'revoked'), true) then
        if (select count(*) from payment_claims c
            where c.key_id = p_key and c.state in ('pending', 'revoked') and c.expires_at > v_now) >= p_most then
            return query select 'too_many', null::bigint, null::timestamptz;
            return;
        end if;
        if (select count(*) from payment_claims c where c.state in ('pending', 'revoked') and c.expires_at > v_now) >= claims_most() then
            update payment_claims c set state = 'expired', expires_at = v_now
            where c.id = (
                select o.id from payment_claims o
                where o.state = 'pending' and o.reason = 'transfer_not_found' and o.expires_at > v_now
                order by o.created_at limit 1 for no key update skip locked);
            if not found then
                return query select 'full', null::bigint, null::timestamptz;
                return;
            end if;
        end if;
    end if;
    if v.id is null then
        insert into payment_claims (key_id, chain_id, tx_hash, signature, state, created_at, asked_at, expires_at)
        values (p_key, p_chain, p_tx, p_signature, 'pending', v_now, v_now, v_now + p_keep)
        returning * into v;
    else
        update payment_claims c
        set state = 'pending', reason = null, signature = coalesce(p_signature, c.signature), asked_at = v_now,
            expires_at = case when c.state = 'pending' and c.expires_at > v_now then c.expires_at else v_now + p_keep end
        where c.id = v.id returning * into v;
    end if;
    perform claims_check(p_tx, greatest(v_now, (
        select max(c.looked_at) + interval '2 seconds' from payment_claims c where c.chain_id = p_chain and c.tx_hash = p_tx)));
    return query select 'asked', v.id, v.asked_at;
end
$$;
-- +goose StatementEnd

-- What strangers can ask for has a queue of its own, and no place before what has a clock.
create or replace function claims_check(p_tx text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('claims', p_tx, 'payments', 8, p_at) $$;
create or replace function x402_check(p_subject text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('x402', p_subject, 'payments', 8, p_at) $$;
-- +goose StatementBegin
create or replace function store_processor_event(p_processor text, p_event text, p_type text, p_payload bytea) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_id bigint;
begin
    insert into processor_events (processor, event, type, payload, received_at)
    values (p_processor, p_event, p_type, p_payload, billing_now())
    on conflict (processor, event) do nothing returning id into v_id;
    if v_id is null then
        return false;
    end if;
    perform run_soon('processor', v_id::text, 'payments', 12, billing_now());
    return true;
end
$$;
-- +goose StatementEnd
update runs set queue = 'payments' where job in ('claims', 'x402', 'processor') and status in ('due', 'queued', 'running');

revoke execute on function amount_was_held, claims_most from public;
grant update (looked_at) on payment_claims to tidemark_worker;

-- +goose Down
update runs set queue = 'timely' where job in ('claims', 'x402', 'processor') and status in ('due', 'queued', 'running');
create or replace function claims_check(p_tx text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('claims', p_tx, 'timely', 8, p_at) $$;
create or replace function x402_check(p_subject text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('x402', p_subject, 'timely', 8, p_at) $$;
-- +goose StatementBegin
create or replace function store_processor_event(p_processor text, p_event text, p_type text, p_payload bytea) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_id bigint;
begin
    insert into processor_events (processor, event, type, payload, received_at)
    values (p_processor, p_event, p_type, p_payload, billing_now())
    on conflict (processor, event) do nothing returning id into v_id;
    if v_id is null then
        return false;
    end if;
    perform run_soon('processor', v_id::text, 'timely', 12, billing_now());
    return true;
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function claim_transfer(p_key bigint, p_chain bigint, p_tx text, p_signature text, p_most int, p_keep interval)
    returns table (outcome text, claim_id bigint, asked_at timestamptz)
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz;
    v     payment_claims;
begin
    perform from keys k where k.id = p_key and k.revoked_at is null for no key update;
    if not found then
        return query select 'unknown', null::bigint, null::timestamptz;
        return;
    end if;
    v_now := billing_now();
    select * into v from payment_claims c where c.chain_id = p_chain and c.tx_hash = p_tx and c.key_id = p_key for no key update;
    if v.state in ('provisional', 'confirmed') then
        return query select 'granted', v.id, v.asked_at;
        return;
    end if;
    if coalesce(v.state not in ('pending', 'revoked'), true)
        and (select count(*) from payment_claims c
            where c.key_id = p_key and c.state in ('pending', 'revoked') and c.expires_at > v_now) >= p_most then
        return query select 'too_many', null::bigint, null::timestamptz;
        return;
    end if;
    if v.id is null then
        insert into payment_claims (key_id, chain_id, tx_hash, signature, state, created_at, asked_at, expires_at)
        values (p_key, p_chain, p_tx, p_signature, 'pending', v_now, v_now, v_now + p_keep)
        returning * into v;
    else
        update payment_claims c
        set state = 'pending', reason = null, signature = coalesce(p_signature, c.signature), asked_at = v_now,
            expires_at = case when c.state = 'pending' and c.expires_at > v_now then c.expires_at else v_now + p_keep end
        where c.id = v.id returning * into v;
    end if;
    perform claims_check(p_tx, v_now);
    return query select 'asked', v.id, v.asked_at;
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function payment_claims_guard() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.state <> 'pending' then
            raise exception 'a claim begins as pending, not as %', new.state using errcode = 'restrict_violation';
        end if;
        return new;
    end if;
    if (new.id, new.key_id, new.chain_id, new.tx_hash, new.created_at)
            is distinct from (old.id, old.key_id, old.chain_id, old.tx_hash, old.created_at) then
        raise exception 'claim % stays what it is', old.id using errcode = 'restrict_violation';
    end if;
    if new.state <> old.state and (old.state, new.state) not in (
        ('pending', 'provisional'), ('pending', 'confirmed'), ('pending', 'rejected'), ('pending', 'expired'),
        ('provisional', 'confirmed'), ('provisional', 'revoked'),
        ('revoked', 'provisional'), ('revoked', 'confirmed'), ('revoked', 'rejected'), ('revoked', 'expired'),
        -- Asked for once more.
        ('rejected', 'pending'), ('expired', 'pending'), ('revoked', 'pending')
    ) then
        raise exception 'claim % is %: it cannot become %', old.id, old.state, new.state using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function payment_transfers_pay() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ref text := format('eip155:%s/%s/%s#%s', new.chain_id, new.tx_hash, new.log_index, new.id);
begin
    if tg_op = 'INSERT' then
        if new.state = 'revoked' or not exists (
            select from payment_claims c
            where c.id = new.claim_id and (c.key_id, c.chain_id, c.tx_hash) = (new.key_id, new.chain_id, new.tx_hash)) then
            raise exception 'a grant begins as provisional or confirmed, and is that of its claim' using errcode = 'restrict_violation';
        end if;
        new.granted_at := billing_now();
        if new.gives = 'pro' then
            select coalesce(k.pro_until > new.granted_at, false) into new.extended from keys k where k.id = new.key_id for no key update;
            insert into plan_changes (key_id, kind, period, ref) values (new.key_id, 'transfer', interval '30 days', v_ref)
            returning plan_changes.pro_until into new.pro_until;
        else
            insert into ledger (key_id, kind, amount, at, ref) values (new.key_id, 'transfer', new.amount, new.granted_at, v_ref);
            select k.balance into new.balance from keys k where k.id = new.key_id;
        end if;
        return new;
    end if;
    if old.state <> 'provisional' or to_jsonb(new) - '{state,reason,ended_at}'::text[] <> to_jsonb(old) - '{state,reason,ended_at}'::text[] then
        raise exception 'grant % is %: it stays as it is', old.id, old.state using errcode = 'restrict_violation';
    end if;
    if new.state <> 'provisional' then
        new.ended_at := billing_now();
    end if;
    if new.state = 'revoked' then
        if new.gives = 'pro' then
            insert into plan_changes (key_id, kind, period, ref) values (new.key_id, 'reversal', -interval '30 days', v_ref);
        else
            insert into ledger (key_id, kind, amount, at, ref) values (new.key_id, 'reversal', -new.amount, new.ended_at, v_ref);
        end if;
    end if;
    return new;
end
$$;
-- +goose StatementEnd
drop function claims_most, amount_was_held;
drop index payment_claims_waiting;
alter table payment_claims drop column looked_at;
alter table payment_transfers drop column quoted;
