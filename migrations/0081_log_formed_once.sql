-- The form of a leaf is compared once, when it is added; leaves of a log that begins are compared when they get their number.

-- +goose Up

-- log_leaf_known is that of 0073. It names the schema, because a constraint calls it while a dump is restored.
-- +goose StatementBegin
create or replace function log_leaf_known(leaf bytea) returns boolean language plpgsql immutable as $$
declare
    ends int;
    rest bytea;
    at bytea;
begin
    if substr(leaf, 1, 17) is distinct from E'tidemark/body/v1\n'::bytea then
        if substr(leaf, 1, 20) is distinct from E'tidemark/dataset/v1\n'::bytea then
            return public.log_leaf_formed(leaf);
        end if;
        return octet_length(leaf) <= 8192 and coalesce(encode(leaf, 'escape') ~ ('^tidemark/dataset/v1\n'
            || replace('date [0-9]{4}-[0-9]{2}-[0-9]{2}\nas_of @\nsha256 [0-9a-f]{64}\nfiles [0-9]+\nat @\n',
                '@', '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z') || '$'), false);
    end if;
    -- After the line of the source each line but that of the length has one length.
    ends := position('\x0a'::bytea in substr(leaf, 25));
    rest := substr(leaf, 24 + ends);
    at := substr(rest, 82, 27);
    return octet_length(leaf) <= 8192 and substr(leaf, 18, 7) = 'source '::bytea and ends > 1
        and substr(rest, 1, 5) = E'\nurl '::bytea and ltrim(substr(rest, 6, 64), '0123456789abcdef'::bytea) = ''::bytea
        and substr(rest, 70, 12) = E'\nfetched_at '::bytea and encode(at, 'escape') like '____-__-__T__:__:__.______Z'
        and ltrim(substr(at, 1, 4) || substr(at, 6, 2) || substr(at, 9, 2) || substr(at, 12, 2) || substr(at, 15, 2) || substr(at, 18, 2)
            || substr(at, 21, 6), '0123456789'::bytea) = ''::bytea
        and substr(rest, 109, 8) = E'\nsha256 '::bytea and ltrim(substr(rest, 117, 64), '0123456789abcdef'::bytea) = ''::bytea
        and substr(rest, 181, 7) = E'\nbytes '::bytea and substr(rest, 188, 1) between '0'::bytea and '9'::bytea
        and ltrim(substr(rest, 188), '0123456789'::bytea) in (E'\nnot_modified true\n'::bytea, E'\nnot_modified false\n'::bytea);
end
$$;
-- +goose StatementEnd

-- Whether the leaf was compared with its form. Leaves of older versions were, but nothing says so.
alter table log_pending add column formed boolean not null default false,
    add constraint log_pending_formed check (not formed or log_leaf_known(leaf));

-- log_append adds one leaf. A leaf that is there already is skipped; another leaf of its key, and bytes that are no known leaf, are refused
-- with the transaction that would say so. Where the log has not begun, nothing is added: log_import adds it later. Whoever finds no log holds
-- the lock that a log takes to begin, so that it reads what they commit.
-- +goose StatementBegin
create or replace function log_append(p_log text, p_key text, p_leaf text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    bytes bytea := convert_to(p_leaf, 'UTF8');
    have bytea;
begin
    insert into log_pending (log, key, leaf, formed)
    select p_log, p_key, bytes, true where exists (select from log_heads where log = p_log)
        and not exists (select from log_entries where log = p_log and key = p_key);
    if found then
        return;
    end if;
    if not log_leaf_known(bytes) then
        raise exception 'what should become the leaf % of the log % is of no known form', p_key, p_log using errcode = 'check_violation';
    end if;
    perform pg_advisory_xact_lock_shared(hashtextextended('log begins', 0));
    insert into log_pending (log, key, leaf, formed)
    select p_log, p_key, bytes, true where exists (select from log_heads where log = p_log)
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

-- As SQL it was planned again for each statement that writes a leaf.
-- +goose StatementBegin
create or replace function log_time(at timestamptz) returns text language plpgsql immutable as $$
begin
    return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
end
$$;
-- +goose StatementEnd

-- log_entries_continue refuses leaves of a log that did not begin, and a number that does not follow the one before it. Heads are never deleted
-- (log_guard), so it replaces a foreign key, which looked for the head once for each leaf.
-- +goose StatementBegin
create function log_entries_continue() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    broken text;
begin
    select a.log into broken from (select log, min(idx) as first, max(idx) as last, count(*) as n from added group by log) a
    where not exists (select from log_heads h where h.log = a.log) or a.last - a.first <> a.n - 1
        or a.first > 0 and not exists (select from log_entries e where e.log = a.log and e.idx = a.first - 1)
    limit 1;
    if found then
        raise exception 'leaves of the log % do not follow its last one', broken using errcode = 'foreign_key_violation';
    end if;
    return null;
end
$$;
-- +goose StatementEnd
alter table log_entries drop constraint log_entries_log_fkey;
create trigger log_entries_continue after insert on log_entries referencing new table as added
    for each statement execute function log_entries_continue();

-- +goose Down
drop trigger log_entries_continue on log_entries;
drop function log_entries_continue();
alter table log_entries add constraint log_entries_log_fkey foreign key (log) references log_heads (log);
-- +goose StatementBegin
create or replace function log_time(at timestamptz) returns text language sql immutable as $$
    select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
-- +goose StatementEnd
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
alter table log_pending drop column formed;
