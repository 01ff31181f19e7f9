-- The facilitator's word that a payment was settled is not the last: a transaction stands for one payment, and the chain is asked later.

-- +goose Up

-- Which payment a facilitator named a transaction for. It cannot be named for another one.
create table x402_named (
    chain_id   bigint not null,
    tx_hash    text   collate "C" not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
    payment_id bigint not null,
    primary key (chain_id, tx_hash)
);
insert into x402_named (chain_id, tx_hash, payment_id)
select chain_id, tx_hash, min(id) from x402_payments where state = 'settled' group by 1, 2;

-- What the chain shows of a payment that the facilitator called settled. missing: the money did not move as it was signed.
create table x402_sightings (
    payment_id bigint      primary key references x402_payments (id),
    verdict    text        not null check (verdict in ('paid', 'missing')),
    looked_at  timestamptz not null default clock_timestamp()
);
create index x402_sightings_missing on x402_sightings (payment_id) where verdict = 'missing';
grant select, insert, update on x402_sightings to tidemark_worker;

-- x402_settled records the facilitator's word that the payer paid. It tells whether the caller is to deliver now. A transaction that was
-- named for another payment, or was found for one, is refused. The run that was made when the settlement began looks at the chain.
-- +goose StatementBegin
create or replace function x402_settled(p_id bigint, p_attempt int, p_tx_hash text, p_lease interval) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_chain bigint;
begin
    select chain_id into v_chain from x402_payments
    where id = p_id and attempt = p_attempt and state in ('settling', 'unknown', 'settled') and delivered_at is null
    for no key update;
    if not found then
        return false;
    end if;
    insert into x402_named (chain_id, tx_hash, payment_id) values (v_chain, p_tx_hash, p_id) on conflict do nothing;
    if (select payment_id from x402_named where chain_id = v_chain and tx_hash = p_tx_hash) <> p_id
        or exists (select from x402_payments where chain_id = v_chain and tx_hash = p_tx_hash and state = 'settled' and id <> p_id) then
        raise exception 'the transaction % was named for another payment', p_tx_hash using errcode = 'unique_violation';
    end if;
    update x402_payments set state = 'settled', tx_hash = coalesce(case state when 'settled' then tx_hash end, p_tx_hash), reason = null,
        lease_until = clock_timestamp() + p_lease
    where id = p_id;
    perform x402_check(p_id::text, clock_timestamp() + interval '1 minute');
    return true;
end
$$;
-- +goose StatementEnd
create index x402_payments_tx on x402_payments (chain_id, tx_hash) where state = 'settled';

-- +goose Down
-- +goose StatementBegin
create or replace function x402_settled(p_id bigint, p_attempt int, p_tx_hash text, p_lease interval) returns boolean
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
drop index x402_payments_tx;
drop table x402_sightings;
drop table x402_named;
