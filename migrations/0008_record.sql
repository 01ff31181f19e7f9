-- The record of the picks: what was picked, when it was announced, the days without a pick, and the corrections. Nothing here is ever
-- changed or removed, and nothing of a pick can be seen by the API before its announcement.

-- +goose Up

-- record_lock makes the writers of the record take turns, until the end of their transaction: what each of them reads of the record
-- is then all that there is.
-- +goose StatementBegin
create function record_lock() returns void language sql as $$
    select pg_advisory_xact_lock(hashtextextended('record', 0))
$$;
-- +goose StatementEnd

-- record_today is the day in New York by the world's clock, as YYYY-MM-DD.
-- +goose StatementBegin
create function record_today() returns text language sql volatile as $$
    select to_char(world_now() at time zone 'America/New_York', 'YYYY-MM-DD')
$$;
-- +goose StatementEnd

-- pick_hash is the rule of the chain (docs/hash-chain.md): SHA-256 of ticker|price|date|previous_hash, in lower-case hex.
-- +goose StatementBegin
create function pick_hash(ticker text, price text, date text, previous_hash text) returns text language sql immutable as $$
    select encode(sha256(convert_to(ticker || '|' || price || '|' || date || '|' || previous_hash, 'UTF8')), 'hex')
$$;
-- +goose StatementEnd

-- pick_fault says which value of a pick has not the form that the chain prescribes; null when all have it.
-- +goose StatementBegin
create function pick_fault(ticker text, price text, date text, previous_hash text) returns text language sql immutable as $$
    select case
        when ticker !~ '^[A-Z0-9]([A-Z0-9.-]{0,14}[A-Z0-9])?$' then 'ticker'
        when price !~ '^(0|[1-9][0-9]{0,11})\.[0-9]{2,4}$' or price !~ '[1-9]' then 'price'
        when date !~ '^[0-9]{4}-(0[1-9]|1[0-2])-[0-9]{2}$' or date ~ '^0000' then 'date'
        when substr(date, 9, 2)::int not between 1 and extract(day from
            make_date(substr(date, 1, 4)::int, substr(date, 6, 2)::int, 1) + interval '1 month - 1 day') then 'date'
        when previous_hash !~ '^[0-9a-f]{64}$' then 'previous_hash'
    end
$$;
-- +goose StatementEnd

-- note_fault tells whether free text that will stand beside the chain is no line of at most 2000 bytes without control characters.
-- +goose StatementBegin
create function note_fault(note text) returns boolean language sql immutable as $$
    select octet_length(note) not between 1 and 2000 or note ~ '[\u0001-\u001F\u007F-\u009F\u2028\u2029]'
$$;
-- +goose StatementEnd

-- What is hashed is text, exactly as it is published. Every pick is made by append_pick, and picks_guard has the last word.
create table picks (
    seq           bigint      primary key,
    ticker        text        collate "C" not null,
    price         text        collate "C" not null,
    date          text        collate "C" not null unique,
    previous_hash text        collate "C" not null unique,
    hash          text        collate "C" not null unique,
    cik           bigint      not null,
    name          text        not null,
    exchange      text        not null,
    sector        text        not null,
    region        text        not null,
    country       text        not null,
    currency      text        not null,
    -- method: as the method chose; editor: a person did, and reason says why.
    origin        text        not null check (origin in ('method', 'editor')),
    reason        text        not null,
    -- Before this instant of the world's time nobody outside learns of the pick.
    announce_at   timestamptz not null,
    -- The world's time when the pick was recorded.
    appended_at   timestamptz not null
);

create index picks_announce_at on picks (announce_at);

-- A pick that has a row here is public; its links are those before it.
create table announcements (
    seq          bigint      primary key references picks (seq),
    announced_at timestamptz not null
);

-- A trading day without a pick. It stays one.
create table gaps (
    date        text        collate "C" primary key,
    reason      text        not null,
    recorded_at timestamptz not null
);

-- What was wrong with an announced pick. The pick stays as it is.
create table corrections (
    id          bigint      generated always as identity primary key,
    seq         bigint      not null references announcements (seq),
    what        text        not null,
    evidence    text        not null,
    date        text        collate "C" not null,
    recorded_at timestamptz not null,
    -- The operator, for the operator.
    by          text        not null
);
-- The texts may be longer than an index holds.
create unique index corrections_once on corrections (seq, date, md5(what), md5(evidence));

-- The messages below name the day and the rule that was broken and no other value: they reach the run log, which the API can read,
-- and a lone hash can be turned back into its pick.

-- +goose StatementBegin
create function picks_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    head  picks%rowtype;
    fault text;
begin
    perform record_lock();
    fault := pick_fault(new.ticker, new.price, new.date, new.previous_hash);
    if fault is not null then
        raise exception 'the % of a pick has not the form that the chain prescribes', fault using errcode = 'restrict_violation';
    end if;
    if new.date <> record_today() then
        raise exception 'a pick of % is refused: today is %', new.date, record_today() using errcode = 'restrict_violation';
    end if;
    select * into head from picks order by seq desc limit 1;
    if new.seq is distinct from coalesce(head.seq, 0) + 1 then
        raise exception 'the pick of % is not numbered as the next one', new.date using errcode = 'restrict_violation';
    end if;
    if new.date <= head.date then
        raise exception 'a pick of % does not come after that of %', new.date, head.date using errcode = 'restrict_violation';
    end if;
    if new.previous_hash <> coalesce(head.hash, repeat('0', 64)) then
        raise exception 'the pick of % is not linked to the one before', new.date using errcode = 'restrict_violation';
    end if;
    if new.hash is distinct from pick_hash(new.ticker, new.price, new.date, new.previous_hash) then
        raise exception 'the hash of the pick of % is not that of its values', new.date using errcode = 'restrict_violation';
    end if;
    if exists (select from gaps g where g.date = new.date) then
        raise exception 'a pick of % is refused: the day is recorded as a gap', new.date using errcode = 'restrict_violation';
    end if;
    -- The earliest close of an exchange day is at 13:00.
    if new.announce_at < (new.date || ' 13:00')::timestamp at time zone 'America/New_York' or new.announce_at <= head.announce_at then
        raise exception 'the pick of % would be announced too early', new.date using errcode = 'restrict_violation';
    end if;
    new.appended_at := world_now();
    return new;
end
$$;
-- +goose StatementEnd
create trigger picks_guard before insert on picks for each row execute function picks_guard();

-- +goose StatementBegin
create function announcements_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    pick picks%rowtype;
begin
    perform record_lock();
    select * into pick from picks p where p.seq = new.seq;
    if not found then
        raise exception 'there is no pick % to announce', new.seq using errcode = 'foreign_key_violation';
    end if;
    new.announced_at := world_now();
    if new.announced_at < pick.announce_at then
        raise exception 'the pick of % is not announced before %', pick.date, pick.announce_at
            using errcode = 'object_not_in_prerequisite_state';
    end if;
    if new.seq > 1 and not exists (select from announcements a where a.seq = new.seq - 1) then
        raise exception 'the pick of % is not announced before the one before it', pick.date using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger announcements_guard before insert on announcements for each row execute function announcements_guard();

-- +goose StatementBegin
create function gaps_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    perform record_lock();
    if pick_fault('A', '0.01', new.date, repeat('0', 64)) is not null or note_fault(new.reason) then
        raise exception 'a gap needs a day and a reason of one line' using errcode = 'restrict_violation';
    end if;
    if new.date > record_today() then
        raise exception 'a gap of % is refused: today is %', new.date, record_today() using errcode = 'restrict_violation';
    end if;
    if exists (select from picks p where p.date = new.date) then
        raise exception 'a gap of % is refused: the day has a pick', new.date using errcode = 'restrict_violation';
    end if;
    new.recorded_at := world_now();
    return new;
end
$$;
-- +goose StatementEnd
create trigger gaps_guard before insert on gaps for each row execute function gaps_guard();

-- +goose StatementBegin
create function corrections_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    if note_fault(new.what) or note_fault(new.evidence) then
        raise exception 'a correction says what was wrong and where that can be seen, in one line each' using errcode = 'restrict_violation';
    end if;
    if new.date <> record_today() then
        raise exception 'a correction of % is refused: today is %', new.date, record_today() using errcode = 'restrict_violation';
    end if;
    new.recorded_at := world_now();
    return new;
end
$$;
-- +goose StatementEnd
create trigger corrections_guard before insert on corrections for each row execute function corrections_guard();

create trigger append_only before update or delete on picks for each row execute function append_only();
create trigger append_only_truncate before truncate on picks for each statement execute function append_only();
create trigger append_only before update or delete on announcements for each row execute function append_only();
create trigger append_only_truncate before truncate on announcements for each statement execute function append_only();
create trigger append_only before update or delete on gaps for each row execute function append_only();
create trigger append_only_truncate before truncate on gaps for each statement execute function append_only();
create trigger append_only before update or delete on corrections for each row execute function append_only();
create trigger append_only_truncate before truncate on corrections for each statement execute function append_only();

-- Whoever shows the record hears that something it shows is new: the table's name. A pick that is not announced is no news.
-- +goose StatementBegin
create function record_changed() returns trigger language plpgsql as $$
begin
    perform pg_notify('record', tg_table_name);
    return null;
end
$$;
-- +goose StatementEnd
create trigger record_changed after insert on announcements for each row execute function record_changed();
create trigger record_changed after insert on gaps for each row execute function record_changed();
create trigger record_changed after insert on corrections for each row execute function record_changed();

-- What the git ledger has to commit: a row for each announced pick, gap and correction, made together with it.
create table ledger_entries (
    id           bigint      generated always as identity primary key,
    seq          bigint      unique references announcements (seq),
    gap          text        collate "C" unique references gaps (date),
    correction   bigint      unique references corrections (id),
    -- When it was announced or recorded: the date of its commit.
    at           timestamptz not null,
    -- Null until it is committed.
    commit_id    text        check (commit_id ~ '^([0-9a-f]{40}|[0-9a-f]{64})$'),
    -- Since when the remote is known to have the commit.
    pushed_at    timestamptz check (pushed_at is null or commit_id is not null),
    check (num_nonnulls(seq, gap, correction) = 1)
);
create index ledger_entries_open on ledger_entries (id) where commit_id is null;
create index ledger_entries_unpushed on ledger_entries (id) where pushed_at is null;

-- +goose StatementBegin
create function ledger_entry() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    case tg_table_name
        when 'announcements' then insert into ledger_entries (seq, at) values (new.seq, new.announced_at);
        when 'gaps' then insert into ledger_entries (gap, at) values (new.date, new.recorded_at);
        when 'corrections' then insert into ledger_entries (correction, at) values (new.id, new.recorded_at);
    end case;
    return null;
end
$$;
-- +goose StatementEnd
create trigger ledger_entry after insert on announcements for each row execute function ledger_entry();
create trigger ledger_entry after insert on gaps for each row execute function ledger_entry();
create trigger ledger_entry after insert on corrections for each row execute function ledger_entry();

-- +goose StatementBegin
create function ledger_entries_guard() returns trigger language plpgsql as $$
begin
    if tg_op <> 'UPDATE' then
        raise exception 'what the ledger has to commit is never removed' using errcode = 'restrict_violation';
    end if;
    if (new.id, new.seq, new.gap, new.correction, new.at) is distinct from (old.id, old.seq, old.gap, old.correction, old.at) then
        raise exception 'what the ledger has to commit never changes' using errcode = 'restrict_violation';
    end if;
    if new.commit_id is distinct from old.commit_id and old.commit_id is not null then
        raise exception 'an entry of the ledger is committed once' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger ledger_entries_guard before update or delete on ledger_entries for each row execute function ledger_entries_guard();
create trigger ledger_entries_guard_truncate before truncate on ledger_entries for each statement execute function ledger_entries_guard();
create trigger record_changed after update on ledger_entries for each row execute function record_changed();

-- How the ledger stands: what its job found last.
create table ledger_state (
    one        boolean     primary key default true check (one),
    -- Where readers find it; empty while it is nowhere but here.
    repository text        not null,
    branch     text        not null,
    -- The newest commit here, and the newest that the remote is known to have; empty for none.
    head       text        not null,
    pushed     text        not null,
    -- local: no remote is set; pushed: all is there; pending: the remote is away; the others want someone to look.
    status     text        not null check (status in ('local', 'pushed', 'pending', 'refused', 'diverged', 'conflict', 'damaged')),
    note       text        not null,
    checked_at timestamptz not null
);
create trigger record_changed after insert or update on ledger_state for each row execute function record_changed();

-- What is put on the L2: the schema, once, and heads of the chain. A row is signed, stored and only then sent, so everything that may
-- ever be mined for it is in txs.
create table attestations (
    id            bigint      generated always as identity primary key,
    -- Counts the changes; a change names the version that it was made of.
    version       bigint      not null default 1,
    chain_id      bigint      not null,
    -- The contract of the attestation service, the schema's uid and the account that attests: 0x and lower-case hex.
    contract      text        not null,
    schema_uid    text        not null,
    attester      text        not null,
    kind          text        not null check (kind in ('register', 'attest')),
    state         text        not null check (state in ('due', 'signed', 'sent', 'stuck', 'mined', 'safe', 'final', 'failed')),
    -- The head that is attested, or the uid of the schema that is registered.
    subject       text        collate "C" not null,
    length        bigint      not null,
    date          text        not null,
    previous_head text        not null,
    ref_uid       text        not null,
    txs           jsonb       not null,
    -- The attestation's uid and its place in the chain: {"tx_hash","block_number","block_hash","block_time"}. Empty and null for none.
    uid           text        not null,
    mined         jsonb,
    cost_wei      bigint      not null,
    spent_on      text        not null,
    note          text        not null,
    alarm         boolean     not null,
    -- It was on a development chain that is gone.
    void          boolean     not null default false,
    created_at    timestamptz not null,
    updated_at    timestamptz not null
);
create unique index attestations_once on attestations (chain_id, contract, attester, kind, subject) where not void;
create index attestations_open on attestations (id) where not void and state not in ('final', 'failed');
create index attestations_spent on attestations (spent_on);

-- +goose StatementBegin
create function attestations_guard() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    if tg_op in ('DELETE', 'TRUNCATE') then
        raise exception 'an attestation is never removed' using errcode = 'restrict_violation';
    end if;
    if tg_op = 'UPDATE' then
        if new.version <> old.version + 1 or old.void
            or (new.id, new.chain_id, new.contract, new.schema_uid, new.attester, new.kind, new.created_at)
                <> (old.id, old.chain_id, old.contract, old.schema_uid, old.attester, old.kind, old.created_at) then
            raise exception 'attestation % cannot become another', old.id using errcode = 'restrict_violation';
        end if;
        if new.void and (select w.name from world w) is distinct from 'sandbox' then
            raise exception 'an attestation is void only where its chain was a development chain' using errcode = 'restrict_violation';
        end if;
        if old.state = 'final' and not new.void then
            raise exception 'attestation % is final', old.id using errcode = 'restrict_violation';
        end if;
        if exists (
            select from jsonb_array_elements(old.txs) with ordinality as o (tx, n)
            where o.tx ->> 'hash' is distinct from new.txs -> (o.n - 1)::int ->> 'hash') then
            raise exception 'a transaction of attestation % was signed and is forgotten', old.id using errcode = 'restrict_violation';
        end if;
        if (new.subject, new.length, new.date) = (old.subject, old.length, old.date) then
            return new;
        end if;
        if jsonb_array_length(old.txs) > 0 then
            raise exception 'attestation % was signed for and cannot be about something else', old.id using errcode = 'restrict_violation';
        end if;
    end if;
    -- What is on a public chain is public.
    if new.kind = 'attest' and not exists (
        select from announced_picks p where p.seq = new.length and p.hash = new.subject and p.date = new.date) then
        raise exception 'only the head of an announced chain is attested' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger attestations_guard before insert or update or delete on attestations for each row execute function attestations_guard();
create trigger attestations_guard_truncate before truncate on attestations for each statement execute function attestations_guard();
create trigger record_changed after insert or update on attestations for each row execute function record_changed();

-- How the attester stands: what its job found last.
create table attester_state (
    one          boolean     primary key default true check (one),
    chain_id     bigint      not null,
    contract     text        not null,
    schema_uid   text        not null,
    -- Empty while there is no key.
    attester     text        not null,
    -- No attestation of the attester is in an earlier block.
    start_block  bigint      not null,
    explorer_url text        not null,
    -- The JSON-RPC of a development chain, which is open to all. Empty elsewhere.
    rpc_url      text        not null,
    -- off: no key or no node is set; ok; unavailable: no node answers; the others want someone to look.
    status       text        not null check (status in ('off', 'ok', 'unavailable', 'forked', 'wrong_chain', 'failed')),
    note         text        not null,
    -- Null where it was not asked for. Days at one attestation a day.
    balance_wei  numeric,
    runway_days  int,
    checked_at   timestamptz not null
);
create trigger record_changed after insert or update on attester_state for each row execute function record_changed();

-- append_pick is the only way to record a pick: it links the values to the newest pick and returns the new number. A day that has a
-- pick keeps it, whatever the values are; then added is false. Without announce_at the pick is announced at 18:00 New York.
-- +goose StatementBegin
create function append_pick(
    ticker text, price text, date text, cik bigint, name text, exchange text, sector text, region text, country text, currency text,
    origin text, reason text, announce_at timestamptz, out seq bigint, out added boolean
) language plpgsql security definer set search_path = public, pg_temp as $$
declare
    head record;
begin
    perform record_lock();
    select p.seq into append_pick.seq from picks p where p.date = append_pick.date;
    added := not found;
    if not added then
        return;
    end if;
    select p.seq, p.hash into head from picks p order by p.seq desc limit 1;
    append_pick.seq := coalesce(head.seq, 0) + 1;
    insert into picks (seq, ticker, price, date, previous_hash, hash, cik, name, exchange, sector, region, country, currency, origin,
        reason, announce_at, appended_at)
    select append_pick.seq, append_pick.ticker, append_pick.price, append_pick.date, h.previous,
        pick_hash(append_pick.ticker, append_pick.price, append_pick.date, h.previous),
        append_pick.cik, append_pick.name, append_pick.exchange, append_pick.sector, append_pick.region, append_pick.country,
        append_pick.currency, append_pick.origin, append_pick.reason,
        coalesce(append_pick.announce_at, (record_today() || ' 18:00')::timestamp at time zone 'America/New_York'), world_now()
    from (select coalesce(head.hash, repeat('0', 64)) as previous) h;
end
$$;
-- +goose StatementEnd
revoke execute on function append_pick(text, text, text, bigint, text, text, text, text, text, text, text, text, timestamptz) from public;
grant execute on function append_pick(text, text, text, bigint, text, text, text, text, text, text, text, text, timestamptz) to tidemark_worker;

-- The picks as the public sees them.
create view announced_picks with (security_barrier) as
select p.seq, p.ticker, p.price, p.date, p.previous_hash, p.hash, p.cik, p.name, p.exchange, p.sector, p.region, p.country, p.currency,
    p.origin, p.reason, p.appended_at, a.announced_at
from picks p
join announcements a using (seq);

grant select on picks, announcements, announced_picks, gaps, corrections, ledger_entries, ledger_state, attestations, attester_state
    to tidemark_worker;
grant insert (seq) on announcements to tidemark_worker;
grant insert (date, reason) on gaps to tidemark_worker;
grant insert (seq, what, evidence, date, by) on corrections to tidemark_worker;
grant update (commit_id, pushed_at) on ledger_entries to tidemark_worker;
grant insert, update on ledger_state, attestations, attester_state to tidemark_worker;
grant select on announced_picks, gaps, ledger_entries, ledger_state, attestations, attester_state to tidemark_api;
grant select (id, seq, what, evidence, date, recorded_at) on corrections to tidemark_api;

-- +goose Down
drop table attester_state;
drop table attestations;
drop function attestations_guard();
drop table ledger_state;
drop table ledger_entries;
drop function ledger_entries_guard();
drop view announced_picks;
drop function append_pick(text, text, text, bigint, text, text, text, text, text, text, text, text, timestamptz);
drop table corrections;
drop table gaps;
drop table announcements;
drop table picks;
drop function ledger_entry();
drop function record_changed();
drop function corrections_guard();
drop function gaps_guard();
drop function announcements_guard();
drop function picks_guard();
drop function note_fault(text);
drop function pick_fault(text, text, text, text);
drop function pick_hash(text, text, text, text);
drop function record_today();
drop function record_lock();
