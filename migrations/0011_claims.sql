-- Money from outside: claims of stablecoin transfers, amounts of one's own to transfer, and what a payment processor reports. The API
-- writes down what it was told; only a worker, which asks the chain or the processor itself, makes anything of it.

-- +goose Up

-- run_soon makes a run of a job due that looks after a subject at an instant, or earlier if one is due earlier. The queue and the number
-- of attempts are those of the job's policy.
-- +goose StatementBegin
create function run_soon(p_job text, p_subject text, p_queue text, p_attempts int, p_at timestamptz) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update runs set next_try_at = case when next_try_at > p_at then p_at else next_try_at end -- null is at once
    where job = p_job and subject = p_subject and status = 'due';
    if not found then
        insert into runs (job, subject, slot, trigger, queue, status, max_attempts, next_try_at)
        values (p_job, p_subject, clock_timestamp(), 'data', p_queue, 'due', p_attempts, p_at)
        on conflict do nothing;
    elsif p_at <= clock_timestamp() then
        perform pg_notify('runs_due', '');
    end if;
end
$$;
-- +goose StatementEnd

-- Amounts that a key holds for a while: a transfer of one of them that is made meanwhile is the key's, whoever claims it first. No two
-- keys hold an amount at a time, and no key two amounts.
create table payment_quotes (
    id     bigint    generated always as identity primary key,
    key_id bigint    not null references keys (id),
    -- In micro-dollars.
    amount bigint    not null check (amount between 5000001 and 5009999),
    held   tstzrange not null check (not isempty(held) and lower(held) is not null and upper(held) is not null),
    constraint an_amount_has_one_holder exclude using gist (int8range(amount, amount, '[]') with &&, held with &&),
    constraint a_key_holds_one_amount exclude using gist (int8range(key_id, key_id, '[]') with &&, held with &&)
);
create trigger append_only before update on payment_quotes for each row execute function append_only();

-- A key's word that a transaction was for it. The first that says so has it, unless the chain shows a better right.
create table payment_claims (
    id          bigint      generated always as identity primary key,
    key_id      bigint      not null references keys (id),
    chain_id    bigint      not null check (chain_id > 0),
    tx_hash     text        collate "C" not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
    -- The sender's, over what names the transaction and the key. Null: none was given.
    signature   text        collate "C" check (signature ~ '^0x[0-9a-fA-F]+$' and octet_length(signature) <= 16386),
    -- pending: it waits for its transaction, or for blocks on top of it. provisional: granted, and looked at again. confirmed: granted
    -- for good. rejected: the chain shows that nothing can be granted. expired: the transaction did not come. revoked: what was granted
    -- was taken back; should the transaction return before expires_at, it is granted anew.
    state       text        not null check (state in ('pending', 'provisional', 'confirmed', 'rejected', 'expired', 'revoked')),
    -- Why nothing is granted: the code of a problem. Null before the first verdict, and where something is.
    reason      text        check (reason <> ''),
    created_at  timestamptz not null,
    -- When it was asked for last, and which asking the verdict answers. Null: none yet.
    asked_at    timestamptz not null,
    answered_at timestamptz,
    -- Until when the chain is looked at for it, where nothing is granted.
    expires_at  timestamptz not null,
    unique (chain_id, tx_hash, key_id),
    constraint a_rejection_has_a_reason check (state <> 'rejected' or reason is not null)
);
create index payment_claims_open on payment_claims (key_id) where state in ('pending', 'revoked');

-- What was granted. One transfer, a log of a transaction, is granted once at a time.
create table payment_transfers (
    id            bigint      generated always as identity primary key,
    claim_id      bigint      not null references payment_claims (id),
    key_id        bigint      not null references keys (id),
    chain_id      bigint      not null,
    tx_hash       text        collate "C" not null,
    log_index     int         not null check (log_index >= 0),
    sender        text        collate "C" not null check (sender ~ '^0x[0-9a-f]{40}$'),
    -- In micro-dollars, the token's atomic units.
    amount        bigint      not null check (amount >= 5000000),
    block_number  bigint      not null,
    block_hash    text        collate "C" not null check (block_hash ~ '^0x[0-9a-f]{64}$'),
    block_time    timestamptz not null,
    -- How many blocks there were from its own to the newest when it was granted.
    confirmations bigint      not null,
    -- The sender has signed for this key.
    proven        boolean     not null,
    -- What it was granted as: its amount, or thirty days of the Pro plan.
    gives         text        not null check (gives in ('balance', 'pro')),
    state         text        not null check (state in ('provisional', 'confirmed', 'revoked')),
    granted_at    timestamptz not null,
    -- What it brought, as it was told at the time: the balance, or the end of the plan and whether it was running already.
    balance       bigint,
    pro_until     timestamptz,
    extended      boolean     not null default false,
    ended_at      timestamptz,
    -- Why it was taken back.
    reason        text        check (reason <> ''),
    constraint what_is_taken_back_has_a_reason check ((state = 'revoked') = (reason is not null))
);
create unique index payment_transfers_once on payment_transfers (chain_id, tx_hash, log_index) where state <> 'revoked';
create index payment_transfers_of on payment_transfers (claim_id);

-- A grant is what it brings: the two are one statement.
-- +goose StatementBegin
create function payment_transfers_pay() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
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
create trigger payment_transfers_pay before insert or update on payment_transfers for each row execute function payment_transfers_pay();
create trigger append_only before delete on payment_transfers for each row execute function append_only();
create trigger append_only_truncate before truncate on payment_transfers for each statement execute function append_only();

-- +goose StatementBegin
create function payment_claims_guard() returns trigger language plpgsql as $$
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
create trigger payment_claims_guard before insert or update on payment_claims for each row execute function payment_claims_guard();
create trigger append_only before delete on payment_claims for each row execute function append_only();
create trigger append_only_truncate before truncate on payment_claims for each statement execute function append_only();

-- Whoever waits for a verdict hears of it.
-- +goose StatementBegin
create function payment_claims_notify() returns trigger language plpgsql as $$
begin
    perform pg_notify('claims', new.id::text);
    return null;
end
$$;
-- +goose StatementEnd
create trigger payment_claims_notify after update on payment_claims for each row
    when (new.state <> old.state or new.answered_at is distinct from old.answered_at) execute function payment_claims_notify();

-- claims_check makes the chain be asked about a transaction at an instant, or earlier.
create function claims_check(p_tx text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('claims', p_tx, 'critical', 8, p_at) $$;

-- claims_lock takes the keys of claims that are decided, in the order in which everybody takes keys, and before the claims.
create function claims_lock(p_keys bigint[]) returns void language sql security definer set search_path = public, pg_temp as
    $$ select from keys k where k.id = any(p_keys) order by k.id for no key update $$;

-- claim_transfer writes down that a key claims a transaction, or claims it once more, and has the chain asked. Outcomes: asked; granted,
-- where it is already; too_many, where p_most claims of the key wait; unknown, where there is no such key that is good.
-- +goose StatementBegin
create function claim_transfer(p_key bigint, p_chain bigint, p_tx text, p_signature text, p_most int, p_keep interval)
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

-- quote_amount returns the amount that a key holds, after taking one for p_keep where it holds none: one that nobody has held, or not
-- for the longest time. Null where there is no such key that is good, or all amounts are held.
-- +goose StatementBegin
create function quote_amount(p_key bigint, p_keep interval, out amount bigint, out held_from timestamptz, out held_until timestamptz)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz;
begin
    perform from keys k where k.id = p_key and k.revoked_at is null for no key update;
    if not found then
        return;
    end if;
    for i in 1 .. 20 loop
        v_now := billing_now();
        select q.amount, lower(q.held), upper(q.held) into amount, held_from, held_until
        from payment_quotes q where q.key_id = p_key and q.held @> v_now;
        if found then
            return;
        end if;
        begin
            insert into payment_quotes as q (key_id, amount, held)
            select p_key, a.amount, tstzrange(v_now, v_now + p_keep)
            from generate_series(5000001, 5009999) as a (amount)
            left join (select h.amount, max(upper(h.held)) as until from payment_quotes h group by h.amount) l on l.amount = a.amount
            where l.until is null or l.until <= v_now
            order by l.until nulls first, random()
            limit 1
            returning q.amount, lower(q.held), upper(q.held) into amount, held_from, held_until;
            return;
        exception when exclusion_violation then -- another key has taken it at this moment
        end;
    end loop;
end
$$;
-- +goose StatementEnd

-- Prepaid by a processor: who paid what, and how much of it went back or is in dispute. Amounts are micro-dollars.
create table top_ups (
    id         bigint      generated always as identity primary key,
    processor  text        not null check (processor in ('stripe')),
    -- The processor's names of the checkout and of the payment that it led to.
    checkout   text        not null check (checkout <> ''),
    payment    text        not null check (payment <> ''),
    key_id     bigint      not null references keys (id),
    amount     bigint      not null check (amount > 0),
    refunded   bigint      not null default 0 check (refunded between 0 and amount),
    disputed   bigint      not null default 0 check (disputed >= 0),
    -- Raised by each change: it names the facts in the ledger.
    revision   int         not null default 0,
    created_at timestamptz not null,
    unique (processor, checkout),
    unique (processor, payment)
);

-- A refund that fails comes back.
alter table ledger drop constraint sign_of_kind;
alter table ledger add constraint sign_of_kind check (case kind
    when 'trial' then amount > 0 when 'top_up' then amount > 0 when 'transfer' then amount > 0 when 'credit' then amount > 0
    when 'charge' then amount < 0 when 'reversal' then amount < 0
    else amount <> 0 end);

-- +goose StatementBegin
create function top_ups_pay() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if tg_op = 'INSERT' then
        if (new.refunded, new.disputed, new.revision) <> (0, 0, 0) then
            raise exception 'a top-up begins whole' using errcode = 'restrict_violation';
        end if;
        new.created_at := billing_now();
        insert into ledger (key_id, kind, amount, at, ref)
        values (new.key_id, 'top_up', new.amount, new.created_at, new.processor || ':' || new.checkout);
        return new;
    end if;
    if to_jsonb(new) - '{refunded,disputed,revision}'::text[] <> to_jsonb(old) - '{refunded,disputed,revision}'::text[] then
        raise exception 'top-up % stays what it is', old.id using errcode = 'restrict_violation';
    end if;
    new.revision := old.revision + 1;
    insert into ledger (key_id, kind, amount, at, ref)
    select new.key_id, d.kind, d.amount, billing_now(), format('%s:%s#%s', new.processor, new.checkout, new.revision)
    from (values ('refund', old.refunded - new.refunded), ('dispute', old.disputed - new.disputed)) as d (kind, amount)
    where d.amount <> 0;
    return new;
end
$$;
-- +goose StatementEnd
create trigger top_ups_pay before insert or update on top_ups for each row execute function top_ups_pay();
create trigger append_only before delete on top_ups for each row execute function append_only();
create trigger append_only_truncate before truncate on top_ups for each statement execute function append_only();

-- What a processor reported. It is a hint where to look: a worker asks the processor itself.
create table processor_events (
    id          bigint      generated always as identity primary key,
    processor   text        not null check (processor in ('stripe')),
    event       text        not null check (char_length(event) between 1 and 255),
    type        text        not null check (char_length(type) between 1 and 255),
    payload     bytea       not null check (octet_length(payload) <= 1048576),
    received_at timestamptz not null,
    done_at     timestamptz,
    -- What came of it.
    outcome     text        check (outcome <> ''),
    unique (processor, event),
    check (num_nulls(done_at, outcome) in (0, 2))
);

-- store_processor_event keeps an event once and has it looked at. It tells whether it is new.
-- +goose StatementBegin
create function store_processor_event(p_processor text, p_event text, p_type text, p_payload bytea) returns boolean
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
    perform run_soon('processor', v_id::text, 'critical', 12, billing_now());
    return true;
end
$$;
-- +goose StatementEnd

-- Who is signed in to the dashboard: the SHA-256 of what the browser holds, and of the key's text that it signed in with. With that text
-- it ends.
create table dashboard_sessions (
    hash       bytea       primary key check (octet_length(hash) = 32),
    secret     bytea       not null references key_secrets (hash),
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index dashboard_sessions_expired on dashboard_sessions (expires_at);

-- open_session signs a browser in, and tells whether it did: not with a text that opens nothing.
-- +goose StatementBegin
create function open_session(p_hash bytea, p_secret bytea, p_keep interval) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz := billing_now();
begin
    insert into dashboard_sessions (hash, secret, created_at, expires_at)
    select p_hash, s.hash, v_now, v_now + p_keep
    from key_secrets s join keys k on k.id = s.key_id
    where s.hash = p_secret and k.revoked_at is null and coalesce(s.ends_at > v_now, true);
    return found;
end
$$;
-- +goose StatementEnd

create function close_session(p_hash bytea) returns void language sql security definer set search_path = public, pg_temp as
    $$ delete from dashboard_sessions where hash = p_hash $$;

revoke execute on function
    run_soon, claims_check, claims_lock, claim_transfer, quote_amount, store_processor_event, open_session, close_session, payment_transfers_pay, top_ups_pay
    from public;
grant execute on function claim_transfer, quote_amount, store_processor_event, open_session, close_session to tidemark_api;
grant execute on function claims_check, claims_lock to tidemark_worker;

-- What a processor reported is between it and the worker: the API only stores it.
grant select on payment_quotes, payment_claims, payment_transfers, top_ups, dashboard_sessions to tidemark_api;
grant select on payment_quotes, payment_claims, payment_transfers, top_ups, processor_events, dashboard_sessions to tidemark_worker;
grant update (state, reason, answered_at, expires_at) on payment_claims to tidemark_worker;
grant insert, update (state, reason, ended_at) on payment_transfers to tidemark_worker;
grant insert, update (refunded, disputed, revision) on top_ups to tidemark_worker;
grant update (done_at, outcome) on processor_events to tidemark_worker;
grant delete on payment_quotes, dashboard_sessions to tidemark_worker;

-- +goose Down
drop function close_session, open_session;
drop table dashboard_sessions;
drop function store_processor_event;
drop table processor_events;
drop table top_ups;
drop function top_ups_pay;
alter table ledger drop constraint sign_of_kind;
alter table ledger add constraint sign_of_kind check (case kind
    when 'trial' then amount > 0 when 'top_up' then amount > 0 when 'transfer' then amount > 0 when 'credit' then amount > 0
    when 'charge' then amount < 0 when 'refund' then amount < 0 when 'reversal' then amount < 0
    else amount <> 0 end);
drop function quote_amount, claim_transfer, claims_lock, claims_check;
drop table payment_transfers;
drop table payment_claims;
drop table payment_quotes;
drop function payment_claims_notify, payment_claims_guard, payment_transfers_pay, run_soon;
