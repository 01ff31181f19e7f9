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

grant select on picks, announcements, announced_picks, gaps, corrections to tidemark_worker;
grant insert (seq) on announcements to tidemark_worker;
grant insert (date, reason) on gaps to tidemark_worker;
grant insert (seq, what, evidence, date, by) on corrections to tidemark_worker;
grant select on announced_picks, gaps to tidemark_api;
grant select (id, seq, what, evidence, date, recorded_at) on corrections to tidemark_api;

-- +goose Down
drop view announced_picks;
drop function append_pick(text, text, text, bigint, text, text, text, text, text, text, text, text, timestamptz);
drop table corrections;
drop table gaps;
drop table announcements;
drop table picks;
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
