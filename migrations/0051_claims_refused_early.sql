-- A claim that is refused writes nothing.

-- +goose Up

alter function claim_transfer(bigint, bigint, text, text, int, interval) rename to claim_transfer_locked;
revoke execute on function claim_transfer_locked(bigint, bigint, text, text, int, interval) from public, tidemark_api;

-- claim_transfer is claim_transfer_locked, which decides. It refuses a new claim of a key whose claims wait in such number without locking the
-- key: a lock is a write with a commit, which anybody with a key could ask for without end.
-- +goose StatementBegin
create function claim_transfer(p_key bigint, p_chain bigint, p_tx text, p_signature text, p_most int, p_keep interval)
    returns table (outcome text, claim_id bigint, asked_at timestamptz)
    language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if exists (select from keys k where k.id = p_key and k.revoked_at is null)
        and not exists (select from payment_claims c where c.chain_id = p_chain and c.tx_hash = p_tx and c.key_id = p_key)
        and (select count(*) from payment_claims c
            where c.key_id = p_key and c.state in ('pending', 'revoked') and c.expires_at > billing_now()) >= p_most then
        return query select 'too_many', null::bigint, null::timestamptz;
        return;
    end if;
    return query select l.outcome, l.claim_id, l.asked_at from claim_transfer_locked(p_key, p_chain, p_tx, p_signature, p_most, p_keep) l;
end
$$;
-- +goose StatementEnd
revoke execute on function claim_transfer(bigint, bigint, text, text, int, interval) from public;
grant execute on function claim_transfer(bigint, bigint, text, text, int, interval) to tidemark_api;

-- +goose Down
drop function claim_transfer(bigint, bigint, text, text, int, interval);
alter function claim_transfer_locked(bigint, bigint, text, text, int, interval) rename to claim_transfer;
grant execute on function claim_transfer(bigint, bigint, text, text, int, interval) to tidemark_api;
