-- Payments by request (x402): the reservation of each authorization, its way to a final state, and an append-only ledger of that.

-- +goose Up

-- One row per authorization that was presented, under the token contract's own key: versions of the protocol and addresses that are
-- paid for share it. What nobody was asked to settle leaves no row.
create table x402_payments (
    id           bigint      generated always as identity primary key,
    chain_id     bigint      not null check (chain_id > 0),
    asset        text        collate "C" not null check (asset ~ '^0x[0-9a-f]{40}$'),
    payer        text        collate "C" not null check (payer ~ '^0x[0-9a-f]{40}$'),
    nonce        text        collate "C" not null check (nonce ~ '^0x[0-9a-f]{64}$'),
    pay_to       text        collate "C" not null check (pay_to ~ '^0x[0-9a-f]{40}$'),
    -- In micro-dollars, the token's atomic units.
    amount       bigint      not null check (amount > 0),
    valid_before timestamptz not null,
    -- Names what was signed, with the signature: the same payment again has the same.
    digest       text        collate "C" not null check (digest ~ '^[0-9a-f]{64}$'),
    -- Path and query of what is bought, and the protocol's version that it is bought with.
    resource     text        not null check (resource <> ''),
    version      smallint    not null check (version in (1, 2)),
    -- SHA-256 of the answer that was built for it.
    answer       text        collate "C" not null check (answer ~ '^[0-9a-f]{64}$'),

    -- reserved: nobody was asked to settle. settling: the facilitator is asked, or was when its asker died. unknown: its answer is not
    -- known. settled: the payer paid. failed: the payer did not; the same authorization may be tried again while it is good.
    state        text        not null check (state in ('reserved', 'settling', 'unknown', 'settled', 'failed')),
    -- Raised by each holder of the row. Who holds an older one changes nothing.
    attempt      int         not null default 1,
    -- Until when the holder is waited for. Null: there is none.
    lease_until  timestamptz,
    tx_hash      text        collate "C" check (tx_hash ~ '^0x[0-9a-f]{64}$'),
    reason       text        check (octet_length(reason) <= 500),
    -- The facilitator says that it did not take the payment. The chain has the last word.
    denied       boolean     not null default false,
    delivered_at timestamptz,
    created_at   timestamptz not null default clock_timestamp(),
    updated_at   timestamptz not null default clock_timestamp(),
    unique (chain_id, asset, payer, nonce),
    constraint a_settlement_names_its_transaction check (state <> 'settled' or tx_hash is not null),
    constraint only_what_is_settled_is_delivered check (delivered_at is null or state = 'settled')
);
create index x402_payments_open on x402_payments (state, id) where state in ('reserved', 'settling', 'unknown', 'failed');

-- Every change of state of a payment that somebody was asked to settle.
create table x402_ledger (
    id         bigint      generated always as identity primary key,
    payment_id bigint      not null,
    chain_id   bigint      not null,
    asset      text        not null,
    payer      text        not null,
    nonce      text        not null,
    pay_to     text        not null,
    amount     bigint      not null,
    resource   text        not null,
    version    smallint    not null,
    state      text        not null check (state in ('settling', 'unknown', 'settled', 'failed', 'delivered')),
    tx_hash    text,
    reason     text,
    at         timestamptz not null default clock_timestamp()
);
create index x402_ledger_of on x402_ledger (payment_id, id);

create trigger append_only before update or delete on x402_ledger for each row execute function append_only();
create trigger append_only_truncate before truncate on x402_ledger for each statement execute function append_only();

-- +goose StatementBegin
create function x402_guard() returns trigger language plpgsql as $$
begin
    if tg_op = 'TRUNCATE' then
        raise exception 'table x402_payments keeps what was settled: % is refused', tg_op using errcode = 'restrict_violation';
    end if;
    if tg_op = 'DELETE' then
        if old.state <> 'reserved' or exists (select from x402_ledger l where l.payment_id = old.id) then
            raise exception 'payment % was to be settled: it stays', old.id using errcode = 'restrict_violation';
        end if;
        return old;
    end if;
    if tg_op = 'INSERT' then
        if new.state <> 'reserved' then
            raise exception 'a payment begins as reserved, not as %', new.state using errcode = 'restrict_violation';
        end if;
        return new;
    end if;
    if (new.id, new.chain_id, new.asset, new.payer, new.nonce, new.created_at)
            is distinct from (old.id, old.chain_id, old.asset, old.payer, old.nonce, old.created_at)
        or new.state <> 'reserved' and (new.pay_to, new.amount, new.valid_before, new.digest, new.resource, new.version)
            is distinct from (old.pay_to, old.amount, old.valid_before, old.digest, old.resource, old.version)
        or new.attempt < old.attempt
        or old.state = 'settled' and new.tx_hash <> old.tx_hash
        or old.delivered_at is not null then
        raise exception 'payment % cannot be changed in this way', old.id using errcode = 'restrict_violation';
    end if;
    if new.state <> old.state and (old.state, new.state) not in (
        ('reserved', 'settling'), ('reserved', 'failed'),
        ('settling', 'unknown'), ('settling', 'settled'), ('settling', 'failed'),
        ('unknown', 'settled'), ('unknown', 'failed'),
        -- A retry; and a settlement that was found although the facilitator had denied it.
        ('failed', 'reserved'), ('failed', 'settled')
    ) then
        raise exception 'payment % is %: it cannot become %', old.id, old.state, new.state using errcode = 'restrict_violation';
    end if;
    new.updated_at := clock_timestamp();
    return new;
end
$$;
-- +goose StatementEnd
create trigger x402_guard before insert or update or delete on x402_payments for each row execute function x402_guard();
create trigger x402_guard_truncate before truncate on x402_payments for each statement execute function x402_guard();

-- Nobody writes the ledger but this.
-- +goose StatementBegin
create function x402_record() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if new.state <> old.state and new.state <> 'reserved' and (old.state, new.state) <> ('reserved', 'failed') then
        insert into x402_ledger (payment_id, chain_id, asset, payer, nonce, pay_to, amount, resource, version, state, tx_hash, reason)
        values (new.id, new.chain_id, new.asset, new.payer, new.nonce, new.pay_to, new.amount, new.resource, new.version, new.state,
            new.tx_hash, new.reason);
        perform pg_notify('x402', new.id::text);
    end if;
    if new.delivered_at is not null and old.delivered_at is null then
        insert into x402_ledger (payment_id, chain_id, asset, payer, nonce, pay_to, amount, resource, version, state, tx_hash)
        values (new.id, new.chain_id, new.asset, new.payer, new.nonce, new.pay_to, new.amount, new.resource, new.version, 'delivered',
            new.tx_hash);
    end if;
    return null;
end
$$;
-- +goose StatementEnd
create trigger x402_record after update on x402_payments for each row execute function x402_record();

-- What a worker found at the token's contract: whether the settings name the domain that payers have to sign for. While a worker
-- reaches the chain it looks again from time to time.
create table x402_terms (
    chain_id   bigint      not null,
    asset      text        collate "C" not null check (asset ~ '^0x[0-9a-f]{40}$'),
    name       text        not null,
    version    text        not null,
    ok         boolean     not null,
    detail     text        not null,
    checked_at timestamptz not null default clock_timestamp(),
    primary key (chain_id, asset, name, version)
);

-- +goose StatementBegin
create function x402_terms_changed() returns trigger language plpgsql as $$
begin
    perform pg_notify('x402', 'terms');
    return null;
end
$$;
-- +goose StatementEnd
create trigger x402_terms_changed after insert or update on x402_terms for each row execute function x402_terms_changed();

-- x402_check makes a run due that looks after a subject (a payment's number, or "terms") at an instant, or earlier if one is due
-- earlier. The queue and the number of attempts are those of the job's policy.
create function x402_check(p_subject text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('x402', p_subject, 'critical', 8, p_at) $$;

-- x402_reserve takes the one place of an authorization. The outcome says what the caller may do:
--   reserved   go on, as the holder of id and attempt
--   redeliver  it is settled and was never delivered for this very request: deliver, as the holder, without charging
--   unclear    it may have been taken, for this very request: wait for what the chain says, as the holder
--   busy       another request holds it
--   used       it was used, or is used up for something else
-- +goose StatementBegin
create function x402_reserve(
    p_chain bigint, p_asset text, p_payer text, p_nonce text, p_pay_to text, p_amount bigint, p_valid_before timestamptz, p_digest text,
    p_resource text, p_version smallint, p_answer text, p_lease interval,
    out outcome text, out id bigint, out attempt int, out tx_hash text
) language plpgsql security definer set search_path = public, pg_temp as $$
declare
    p    x402_payments;
    same boolean;
    held boolean;
begin
    loop
        insert into x402_payments as x (chain_id, asset, payer, nonce, pay_to, amount, valid_before, digest, resource, version, answer,
            state, lease_until)
        values (p_chain, p_asset, p_payer, p_nonce, p_pay_to, p_amount, p_valid_before, p_digest, p_resource, p_version, p_answer,
            'reserved', clock_timestamp() + p_lease)
        on conflict (chain_id, asset, payer, nonce) do nothing
        returning x.id, x.attempt into x402_reserve.id, x402_reserve.attempt;
        if found then
            outcome := 'reserved';
            return;
        end if;
        select * into p from x402_payments x
        where x.chain_id = p_chain and x.asset = p_asset and x.payer = p_payer and x.nonce = p_nonce
        for no key update;
        exit when found; -- otherwise it was released this moment
    end loop;
    same := p.digest = p_digest and p.resource = p_resource;
    held := p.lease_until is not null and p.lease_until > clock_timestamp();
    x402_reserve.id := p.id;
    x402_reserve.tx_hash := p.tx_hash;
    outcome := case
        when p.delivered_at is not null or p.state = 'settled' and not same then 'used'
        when p.state <> 'failed' and held then 'busy'
        when p.state in ('reserved', 'failed') then 'reserved'
        when p.state = 'settled' then 'redeliver'
        when same then 'unclear'
        else 'used'
    end;
    if outcome in ('busy', 'used') then
        return;
    end if;
    x402_reserve.attempt := p.attempt + 1;
    update x402_payments x set attempt = p.attempt + 1, lease_until = clock_timestamp() + p_lease, answer = p_answer where x.id = p.id;
    if outcome = 'reserved' then
        update x402_payments x set state = 'reserved', pay_to = p_pay_to, amount = p_amount, valid_before = p_valid_before,
            digest = p_digest, resource = p_resource, version = p_version
        where x.id = p.id;
    end if;
    if outcome = 'unclear' then
        perform x402_check(p.id::text, clock_timestamp());
    end if;
end
$$;
-- +goose StatementEnd

-- x402_release gives a reservation back: nobody was asked to settle it. It tells whether the caller still held it.
-- +goose StatementBegin
create function x402_release(p_id bigint, p_attempt int) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    -- One that was to be settled before is failed, as it was.
    update x402_payments set state = 'failed', lease_until = null
    where id = p_id and attempt = p_attempt and state = 'reserved' and exists (select from x402_ledger l where l.payment_id = p_id);
    if not found then
        delete from x402_payments where id = p_id and attempt = p_attempt and state = 'reserved';
    end if;
    return found;
end
$$;
-- +goose StatementEnd

-- x402_settling says that the facilitator is about to be asked to settle. Should the caller die, the chain is asked after the lease.
-- +goose StatementBegin
create function x402_settling(p_id bigint, p_attempt int, p_lease interval) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update x402_payments
    set state = 'settling', lease_until = clock_timestamp() + p_lease, reason = null, tx_hash = null, denied = false
    where id = p_id and attempt = p_attempt and state = 'reserved';
    if not found then
        return false;
    end if;
    perform x402_check(p_id::text, clock_timestamp() + p_lease);
    return true;
end
$$;
-- +goose StatementEnd

-- x402_settled records the facilitator's word that the payer paid. It tells whether the caller is to deliver now.
-- +goose StatementBegin
create function x402_settled(p_id bigint, p_attempt int, p_tx_hash text, p_lease interval) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update x402_payments set state = 'settled', tx_hash = coalesce(case state when 'settled' then tx_hash end, p_tx_hash), reason = null,
        lease_until = clock_timestamp() + p_lease
    where id = p_id and attempt = p_attempt and state in ('settling', 'unknown', 'settled') and delivered_at is null;
    if not found then
        return false;
    end if;
    delete from runs where job = 'x402' and subject = p_id::text and status = 'due';
    return true;
end
$$;
-- +goose StatementEnd

-- x402_unsettled records that a settlement failed, or that it is unknown whether it did; the chain is to be asked at once. The caller
-- remains the holder of what is unknown.
-- +goose StatementBegin
create function x402_unsettled(p_id bigint, p_attempt int, p_state text, p_tx_hash text, p_reason text, p_denied boolean) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if p_state is null or p_state not in ('failed', 'unknown') then
        raise exception 'a settlement without success is failed or unknown, not %', p_state using errcode = 'invalid_parameter_value';
    end if;
    update x402_payments set state = p_state, tx_hash = p_tx_hash, reason = p_reason, denied = p_denied,
        lease_until = case p_state when 'unknown' then lease_until end
    where id = p_id and attempt = p_attempt and state = 'settling';
    if not found then
        return false;
    end if;
    perform x402_check(p_id::text, clock_timestamp());
    return true;
end
$$;
-- +goose StatementEnd

-- x402_take returns the state of a payment to its holder, and makes it the one who delivers where it is settled. A state of null means
-- that the caller holds it no longer.
-- +goose StatementBegin
create function x402_take(p_id bigint, p_attempt int, p_lease interval, out state text, out tx_hash text, out reason text)
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update x402_payments x
    set lease_until = case x.state when 'settled' then clock_timestamp() + p_lease else x.lease_until end
    where x.id = p_id and x.attempt = p_attempt and x.delivered_at is null
    returning x.state, x.tx_hash, x.reason into x402_take.state, x402_take.tx_hash, x402_take.reason;
end
$$;
-- +goose StatementEnd

-- x402_leave ends the hold: delivered, or to be delivered to one who asks again.
-- +goose StatementBegin
create function x402_leave(p_id bigint, p_attempt int, p_delivered boolean) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update x402_payments
    set delivered_at = case when p_delivered and state = 'settled' then clock_timestamp() end, lease_until = null
    where id = p_id and attempt = p_attempt and delivered_at is null and state in ('settled', 'unknown');
    return found;
end
$$;
-- +goose StatementEnd

revoke execute on function
    x402_check(text, timestamptz),
    x402_reserve(bigint, text, text, text, text, bigint, timestamptz, text, text, smallint, text, interval),
    x402_release(bigint, int), x402_settling(bigint, int, interval), x402_settled(bigint, int, text, interval),
    x402_unsettled(bigint, int, text, text, text, boolean), x402_take(bigint, int, interval), x402_leave(bigint, int, boolean)
from public;
grant execute on function
    x402_reserve(bigint, text, text, text, text, bigint, timestamptz, text, text, smallint, text, interval),
    x402_release(bigint, int), x402_settling(bigint, int, interval), x402_settled(bigint, int, text, interval),
    x402_unsettled(bigint, int, text, text, text, boolean), x402_take(bigint, int, interval), x402_leave(bigint, int, boolean)
to tidemark_api;
grant execute on function x402_check(text, timestamptz) to tidemark_worker;

grant select on x402_payments, x402_ledger to tidemark_worker;
grant update (state, tx_hash, reason) on x402_payments to tidemark_worker;
grant delete on x402_payments to tidemark_worker;
grant select, insert, update on x402_terms to tidemark_worker;
grant select on x402_terms to tidemark_api;

-- +goose Down
drop function x402_leave(bigint, int, boolean);
drop function x402_take(bigint, int, interval);
drop function x402_unsettled(bigint, int, text, text, text, boolean);
drop function x402_settled(bigint, int, text, interval);
drop function x402_settling(bigint, int, interval);
drop function x402_release(bigint, int);
drop function x402_reserve(bigint, text, text, text, text, bigint, timestamptz, text, text, smallint, text, interval);
drop function x402_check(text, timestamptz);
drop table x402_terms;
drop function x402_terms_changed();
drop table x402_ledger;
drop table x402_payments;
drop function x402_record();
drop function x402_guard();
