-- Whoever takes several rows takes them in the order that internal/postgres/locks.go states; what has a clock has a queue of its own; and
-- what an operator gives is given once.

-- +goose Up

-- +goose StatementBegin
create or replace function run_soon(p_job text, p_subject text, p_queue text, p_attempts int, p_at timestamptz) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    with due as (
        select id from runs where job = p_job and subject = p_subject and status = 'due' order by slot for no key update
    )
    update runs r set next_try_at = case when r.next_try_at > p_at then p_at else r.next_try_at end -- null is at once
    from due d where r.id = d.id;
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

-- Two keys that reach for one amount at the same moment would each wait for the other's row: with "do nothing" one of them gives way.
-- +goose StatementBegin
create or replace function quote_amount(p_key bigint, p_keep interval, out amount bigint, out held_from timestamptz, out held_until timestamptz)
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
        insert into payment_quotes as q (key_id, amount, held)
        select p_key, a.amount, tstzrange(v_now, v_now + p_keep)
        from generate_series(5000001, 5009999) as a (amount)
        left join (select h.amount, max(upper(h.held)) as until from payment_quotes h group by h.amount) l on l.amount = a.amount
        where l.until is null or l.until <= v_now
        order by l.until nulls first, random()
        limit 1
        on conflict do nothing -- another key has taken it at this moment
        returning q.amount, lower(q.held), upper(q.held) into amount, held_from, held_until;
        if found then
            return;
        end if;
    end loop;
end
$$;
-- +goose StatementEnd

-- What is handed out at this moment stays: the run finds nothing to do.
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
    delete from runs r using (
        select id from runs where job = 'x402' and subject = p_id::text and status = 'due' for update skip locked
    ) gone where r.id = gone.id;
    return true;
end
$$;
-- +goose StatementEnd

-- Retention locks what it removes, which takes the right to change something of it.
grant update (expires_at) on paid_requests, kept_answers, dashboard_sessions to tidemark_worker;
grant update (last_at) on usage to tidemark_worker;
grant update (held) on payment_quotes to tidemark_worker; -- its trigger refuses every change

-- What an operator gives has a name, and is given once.
create unique index ledger_credits on ledger (ref) where kind = 'credit';
create unique index plan_changes_grants on plan_changes (ref) where kind = 'grant';

-- The queue is that of the policies in the program.
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
update runs set queue = 'timely'
where job in ('pick', 'announce', 'attest', 'claims', 'x402', 'processor') and status in ('due', 'queued', 'running');

-- +goose Down
drop index plan_changes_grants;
drop index ledger_credits;
update runs set queue = 'critical'
where job in ('pick', 'announce', 'attest', 'claims', 'x402', 'processor') and status in ('due', 'queued', 'running');
create or replace function claims_check(p_tx text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('claims', p_tx, 'critical', 8, p_at) $$;
create or replace function x402_check(p_subject text, p_at timestamptz) returns void language sql security definer set search_path = public, pg_temp as
    $$ select run_soon('x402', p_subject, 'critical', 8, p_at) $$;
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
    perform run_soon('processor', v_id::text, 'critical', 12, billing_now());
    return true;
end
$$;
-- +goose StatementEnd
revoke update (held) on payment_quotes from tidemark_worker;
revoke update (last_at) on usage from tidemark_worker;
revoke update (expires_at) on paid_requests, kept_answers, dashboard_sessions from tidemark_worker;
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
