-- A leaf that cannot be numbered stops no other: it is set aside, and counted. A log that waits says why, and since when.

-- +goose Up

-- Leaves without a number that never get one: their key has another leaf, or they are of no known form. The operator settles them.
create table log_aside (
    id         bigint      generated always as identity primary key,
    log        text        not null,
    key        text        collate "C" not null,
    leaf       bytea       not null,
    why        text        not null,
    at         timestamptz not null default clock_timestamp(),
    -- When the operator had seen to it.
    settled_at timestamptz
);
grant select, insert on log_aside to tidemark_worker;
grant update (settled_at) on log_aside to tidemark_worker;

-- Since when a leaf waits for its number.
alter table log_pending add column at timestamptz not null default clock_timestamp();

-- Why no round of the sequencer ends well, and since when; null: they do.
alter table log_heads add column waits text, add column waits_since timestamptz;

-- log_leaf_known reports whether bytes have the form of a leaf that may be appended. It never fails, whatever the bytes are.
-- +goose StatementBegin
create function log_leaf_known(leaf bytea) returns boolean language sql immutable as $$
    select octet_length(leaf) <= 8192 and coalesce(encode(leaf, 'escape') ~ ('^' || replace(case substring(encode(substr(leaf, 1, 32), 'escape') from '^tidemark/([a-z]+)/v1\n')
        when 'seal' then 'tidemark/seal/v1\nabout [^\n]+\ncommitment [0-9a-f]{64}\nmethod [^\n]+\nreveal_by @\nat @\n'
        when 'reveal' then 'tidemark/reveal/v1\nseal [0-9]+\nabout [^\n]+\nsalt [0-9a-f]{64}\ncontent [A-Za-z0-9+/]+=*\nat @\n'
        when 'pick' then 'tidemark/pick/v1\nseq [0-9]+\npreimage [^\n]+\nhash [0-9a-f]{64}\nat @\n'
        when 'gap' then 'tidemark/gap/v1\ndate [0-9]{4}-[0-9]{2}-[0-9]{2}\nreason [^\n]+\nat @\n'
        when 'correction' then 'tidemark/correction/v1\nseq [0-9]+\nwhat [^\n]+\nevidence [^\n]+\ndate [0-9]{4}-[0-9]{2}-[0-9]{2}\nat @\n'
        when 'method' then 'tidemark/method/v1\nname [^\n]+\nversion [^\n]+\nstatus (tried|adopted|dropped)\nsha256 [0-9a-f]{64}\nnote [^\n]+\nat @\n'
        when 'forecast' then 'tidemark/forecast/v1\nseq [0-9]+\nid [^\n]+\nrelease_at @\nvalue [^\n ]+\nlo [^\n ]+\nhi [^\n ]+\nlevel [^\n ]+\nmethod [^\n]+\nhash [0-9a-f]{64}\nat @\n'
        when 'grade' then 'tidemark/grade/v1\nseq [0-9]+\nid [^\n]+\npublished_at @\nvalue [^\n ]+\nscore [^\n]+\nhash [0-9a-f]{64}\nat @\n'
        when 'sources' then 'tidemark/sources/v1\nsize [0-9]+\nroot [A-Za-z0-9+/]{43}=\nat @\n'
        when 'key' then 'tidemark/key/v1\nold [^\n]+\nnew [^\n]+\nuntil @\nat @\n'
        when 'body' then 'tidemark/body/v1\nsource [^\n]+\nurl [0-9a-f]{64}\nfetched_at @\nsha256 [0-9a-f]{64}\nbytes [0-9]+\nnot_modified (true|false)\n'
        end, '@', '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z') || '$'), false)
$$;
-- +goose StatementEnd

-- log_append is the only way to add a leaf. A leaf that is there already is skipped; another leaf of its key, and bytes that are no known
-- leaf, are refused with the transaction that would say so. Where the log has not begun, nothing is added: log_import adds it later. Whoever
-- finds no log holds the lock that a log takes to begin, so that it reads what they commit.
-- +goose StatementBegin
create or replace function log_append(p_log text, p_key text, p_leaf text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    bytes bytea := convert_to(p_leaf, 'UTF8');
    have bytea;
begin
    if not log_leaf_known(bytes) then
        raise exception 'what should become the leaf % of the log % is of no known form', p_key, p_log using errcode = 'check_violation';
    end if;
    insert into log_pending (log, key, leaf)
    select p_log, p_key, bytes where exists (select from log_heads where log = p_log)
        and not exists (select from log_entries where log = p_log and key = p_key);
    if found then
        return;
    end if;
    perform pg_advisory_xact_lock_shared(hashtextextended('log begins', 0));
    insert into log_pending (log, key, leaf)
    select p_log, p_key, bytes where exists (select from log_heads where log = p_log)
        and not exists (select from log_entries where log = p_log and key = p_key);
    if not found then
        select leaf into have from log_entries where log = p_log and key = p_key;
        if have <> bytes then
            raise exception 'the log % has another leaf for %', p_log, p_key using errcode = 'unique_violation';
        end if;
    end if;
end
$$;
-- +goose StatementEnd

-- A reveal that cannot be added stops no numbering.
-- +goose StatementBegin
create or replace function seal_numbered() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    s pick_seals%rowtype;
begin
    update pick_seals set idx = new.idx where date = substr(new.key, 11) returning * into s;
    if s.revealed_at is not null then
        begin
            perform log_append('record', 'reveal:pick:' || s.date, reveal_leaf(s));
        exception when check_violation or unique_violation then
            insert into log_aside (log, key, leaf, why) values ('record', 'reveal:pick:' || s.date, convert_to(reveal_leaf(s), 'UTF8'), sqlerrm);
        end;
    end if;
    return null;
end
$$;
-- +goose StatementEnd

-- The second change of the log's key to the same key had the first one's name, and could not be numbered.
update log_pending p set key = 'key:' || (
    (select count(*) from log_entries e where e.log = p.log and e.key ^@ 'key:') + (select count(*) from log_pending o where o.log = p.log and o.key ^@ 'key:' and o.id <= p.id))
where p.key ^@ 'key:';

-- +goose Down
-- +goose StatementBegin
create or replace function seal_numbered() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    s pick_seals%rowtype;
begin
    update pick_seals set idx = new.idx where date = substr(new.key, 11) returning * into s;
    if s.revealed_at is not null then
        perform log_append('record', 'reveal:pick:' || s.date, reveal_leaf(s));
    end if;
    return null;
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function log_append(p_log text, p_key text, p_leaf text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into log_pending (log, key, leaf)
    select p_log, p_key, convert_to(p_leaf, 'UTF8') where exists (select from log_heads where log = p_log);
    if not found then
        perform pg_advisory_xact_lock_shared(hashtextextended('log begins', 0));
        insert into log_pending (log, key, leaf)
        select p_log, p_key, convert_to(p_leaf, 'UTF8') where exists (select from log_heads where log = p_log);
    end if;
end
$$;
-- +goose StatementEnd
drop function log_leaf_known(bytea);
alter table log_heads drop column waits, drop column waits_since;
alter table log_pending drop column at;
drop table log_aside;
