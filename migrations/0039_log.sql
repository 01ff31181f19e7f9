-- The transparency log (docs/transparency-log.md): what was said is made a leaf in the transaction that says it, gets a number later, and
-- is then in every checkpoint. Two logs: record (picks, gaps, corrections, methods) and sources (a leaf for each archived body).

-- +goose Up

-- Leaves without a number. Whoever makes a fact adds one and waits for nobody; the sequencer numbers them in the order in which it sees them.
create table log_pending (
    id   bigint generated always as identity primary key,
    log  text   not null check (log in ('record', 'sources')),
    -- Names the fact: pick:412, body:99.
    key  text   collate "C" not null,
    leaf bytea  not null check (octet_length(leaf) between 1 and 8192)
);

-- A row for each log, made when it begins.
create table log_heads (
    log          text        primary key check (log in ('record', 'sources')),
    origin       text        not null unique,
    -- The key that signs now.
    vkey         text        not null,
    -- How many leaves have a number, and the size and root of the newest checkpoint.
    entries      bigint      not null default 0 check (entries >= size),
    size         bigint      not null default 0,
    root         bytea       not null check (octet_length(root) = 32),
    -- Why nothing is signed; null: it goes on.
    stopped      text,
    -- The witnesses that the operator's policy names: [{"name","vkey"}].
    witnesses    jsonb       not null default '[]',
    began_at     timestamptz not null
);

create table log_entries (
    log  text   not null references log_heads (log),
    idx  bigint not null check (idx >= 0),
    key  text   collate "C" not null,
    leaf bytea  not null,
    primary key (log, idx),
    unique (log, key)
);

-- The hashes of a tile, 256 at most. The last one of a level grows.
create table log_tiles (
    log    text     not null references log_heads (log),
    level  smallint not null check (level between 0 and 63),
    n      bigint   not null check (n >= 0),
    hashes bytea    not null check (octet_length(hashes) between 32 and 8192 and octet_length(hashes) % 32 = 0),
    primary key (log, level, n)
);

-- One for each size, ever.
create table log_checkpoints (
    log          text        not null references log_heads (log),
    size         bigint      not null,
    root         bytea       not null,
    -- Signed by the log.
    note         bytea       not null,
    signed_at    timestamptz not null default clock_timestamp(),
    -- When the quorum of the operator's policy had cosigned it.
    witnessed_at timestamptz,
    primary key (log, size)
);
create index log_checkpoints_witnessed on log_checkpoints (log, size) where witnessed_at is not null;

-- The newest line of each witness over a checkpoint.
create table log_cosignatures (
    log     text        not null,
    size    bigint      not null,
    witness text        not null,
    line    text        not null,
    at      timestamptz not null,
    primary key (log, size, witness),
    foreign key (log, size) references log_checkpoints (log, size)
);

create trigger append_only before update or delete on log_entries for each row execute function append_only();
create trigger append_only_truncate before truncate on log_entries for each statement execute function append_only();

-- +goose StatementBegin
create function log_guard() returns trigger language plpgsql as $$
begin
    if tg_op <> 'UPDATE' then
        raise exception 'table % of the log only grows: % is refused', tg_table_name, tg_op using errcode = 'restrict_violation';
    end if;
    case tg_table_name
        when 'log_heads' then
            if (new.log, new.origin, new.began_at) is distinct from (old.log, old.origin, old.began_at)
                or new.size < old.size or new.entries < old.entries or new.size = old.size and new.root <> old.root then
                raise exception 'the log % neither shrinks nor changes its origin', old.log using errcode = 'restrict_violation';
            end if;
        when 'log_tiles' then
            if (new.log, new.level, new.n) is distinct from (old.log, old.level, old.n)
                or octet_length(new.hashes) < octet_length(old.hashes)
                or substr(new.hashes, 1, octet_length(old.hashes)) <> old.hashes then
                raise exception 'a tile of the log % only grows', old.log using errcode = 'restrict_violation';
            end if;
        when 'log_checkpoints' then
            if (new.log, new.size, new.root, new.note, new.signed_at) is distinct from (old.log, old.size, old.root, old.note, old.signed_at)
                or old.witnessed_at is not null and new.witnessed_at is distinct from old.witnessed_at then
                raise exception 'there is one checkpoint of size % of the log %', old.size, old.log using errcode = 'restrict_violation';
            end if;
        when 'log_cosignatures' then
            if (new.log, new.size, new.witness) is distinct from (old.log, old.size, old.witness) or new.at < old.at then
                raise exception 'the times of a witness do not fall' using errcode = 'restrict_violation';
            end if;
    end case;
    return new;
end
$$;
-- +goose StatementEnd
create trigger log_guard before update or delete on log_heads for each row execute function log_guard();
create trigger log_guard_truncate before truncate on log_heads for each statement execute function log_guard();
create trigger log_guard before update or delete on log_tiles for each row execute function log_guard();
create trigger log_guard_truncate before truncate on log_tiles for each statement execute function log_guard();
create trigger log_guard before update or delete on log_checkpoints for each row execute function log_guard();
create trigger log_guard_truncate before truncate on log_checkpoints for each statement execute function log_guard();
create trigger log_guard before update or delete on log_cosignatures for each row execute function log_guard();
create trigger log_guard_truncate before truncate on log_cosignatures for each statement execute function log_guard();

-- log_time writes an instant as leaves have it.
-- +goose StatementBegin
create function log_time(at timestamptz) returns text language sql immutable as $$
    select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
-- +goose StatementEnd

-- The leaves of facts, in the form that chain/tlog reads.

-- +goose StatementBegin
create function pick_leaf(p picks, at timestamptz) returns text language sql stable as $$
    select format(E'tidemark/pick/v1\nseq %s\npreimage %s|%s|%s|%s\nhash %s\nat %s\n',
        p.seq, p.ticker, p.price, p.date, p.previous_hash, p.hash, log_time(at))
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create function gap_leaf(g gaps) returns text language sql stable as $$
    select format(E'tidemark/gap/v1\ndate %s\nreason %s\nat %s\n', g.date, g.reason, log_time(g.recorded_at))
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create function correction_leaf(c corrections) returns text language sql stable as $$
    select format(E'tidemark/correction/v1\nseq %s\nwhat %s\nevidence %s\ndate %s\nat %s\n',
        c.seq, c.what, c.evidence, c.date, log_time(c.recorded_at))
$$;
-- +goose StatementEnd
-- The address of a body is a hash: it may be long.
-- +goose StatementBegin
create function body_leaf(f fetches) returns text language sql stable as $$
    select format(E'tidemark/body/v1\nsource %s\nurl %s\nfetched_at %s\nsha256 %s\nbytes %s\nnot_modified %s\n',
        f.source, encode(sha256(convert_to(f.url, 'UTF8')), 'hex'), log_time(f.fetched_at), f.sha256, f.bytes, f.not_modified::text)
$$;
-- +goose StatementEnd

-- log_append is the only way to add a leaf.
-- +goose StatementBegin
create function log_append(p_log text, p_key text, p_leaf text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf) values (p_log, p_key, convert_to(p_leaf, 'UTF8'))
$$;
-- +goose StatementEnd
revoke execute on function log_append from public;
grant execute on function log_append to tidemark_worker;

-- +goose StatementBegin
create function log_record() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    case tg_table_name
        when 'announcements' then
            perform log_append('record', 'pick:' || p.seq, pick_leaf(p, new.announced_at)) from picks p where p.seq = new.seq;
        when 'gaps' then perform log_append('record', 'gap:' || new.date, gap_leaf(new));
        when 'corrections' then perform log_append('record', 'correction:' || new.id, correction_leaf(new));
        when 'fetches' then perform log_append('sources', 'body:' || new.id, body_leaf(new));
    end case;
    return null;
end
$$;
-- +goose StatementEnd
create trigger log_record after insert on announcements for each row execute function log_record();
create trigger log_record after insert on gaps for each row execute function log_record();
create trigger log_record after insert on corrections for each row execute function log_record();
-- What a recording tool built is no publisher's answer, and an error's page is no body.
create trigger log_record after insert on fetches for each row
    when (new.status in (200, 304) and not new.constructed) execute function log_record();

-- What there was before the log began. The checkpoint says that it was there by then, and no more.
insert into log_pending (log, key, leaf)
select log, key, convert_to(leaf, 'UTF8') from (
    select 'record' as log, 'pick:' || p.seq as key, pick_leaf(p, a.announced_at) as leaf, a.announced_at as at, 1 as kind, p.seq as n
    from picks p join announcements a using (seq)
    union all
    select 'record', 'gap:' || g.date, gap_leaf(g), g.recorded_at, 2, 0 from gaps g
    union all
    select 'record', 'correction:' || c.id, correction_leaf(c), c.recorded_at, 3, c.id from corrections c
) past order by at, kind, n;
insert into log_pending (log, key, leaf)
select 'sources', 'body:' || f.id, convert_to(body_leaf(f), 'UTF8')
from fetches f where f.status in (200, 304) and not f.constructed order by f.id;

grant select, delete on log_pending to tidemark_worker;
grant select, insert, update on log_heads, log_tiles, log_cosignatures to tidemark_worker;
grant select, insert on log_entries, log_checkpoints to tidemark_worker;
grant update (witnessed_at) on log_checkpoints to tidemark_worker;
grant select on log_heads, log_entries, log_tiles, log_checkpoints, log_cosignatures to tidemark_api;

-- +goose Down
drop trigger log_record on fetches;
drop trigger log_record on corrections;
drop trigger log_record on gaps;
drop trigger log_record on announcements;
drop function log_record();
drop function log_append(text, text, text);
drop function body_leaf(fetches);
drop function correction_leaf(corrections);
drop function gap_leaf(gaps);
drop function pick_leaf(picks, timestamptz);
drop function log_time(timestamptz);
drop table log_cosignatures;
drop table log_checkpoints;
drop table log_tiles;
drop table log_entries;
drop table log_heads;
drop table log_pending;
drop function log_guard();
