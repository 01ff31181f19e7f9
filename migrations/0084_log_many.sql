-- Leaves are added by one statement, however many a caller has: log_append takes lists, and a single leaf is a list of one. A leaf that came alone took
-- an INSERT of its own, for which Postgres prepares table, index and checks again.

-- +goose Up

-- log_leaf_known is that of 0081. One pattern compares what is the same in all bodies. The lines of hashes and times have one length, so that the
-- pattern says where they are.
-- +goose StatementBegin
create or replace function log_leaf_known(leaf bytea) returns boolean language plpgsql immutable as $$
declare
    rest bytea;
begin
    if substr(leaf, 1, 17) is distinct from E'tidemark/body/v1\n'::bytea then
        if substr(leaf, 1, 20) is distinct from E'tidemark/dataset/v1\n'::bytea then
            return public.log_leaf_formed(leaf);
        end if;
        return octet_length(leaf) <= 8192 and coalesce(encode(leaf, 'escape') ~ ('^tidemark/dataset/v1\n'
            || replace('date [0-9]{4}-[0-9]{2}-[0-9]{2}\nas_of @\nsha256 [0-9a-f]{64}\nfiles [0-9]+\nat @\n',
                '@', '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z') || '$'), false);
    end if;
    rest := substr(leaf, 24 + position('\x0a'::bytea in substr(leaf, 25)));
    return octet_length(leaf) <= 8192 and substr(leaf, 18, 7) = 'source '::bytea and substr(leaf, 25, 1) <> '\x0a'::bytea
        and rest like E'\nurl ________________________________________________________________\nfetched\\\\_at ____-__-__T__:__:__.______Z\nsha256 ________________________________________________________________\nbytes _%'::bytea
        and ltrim(substr(rest, 6, 64) || substr(rest, 117, 64), '0123456789abcdef'::bytea) = ''::bytea
        and ltrim(substr(rest, 82, 4) || substr(rest, 87, 2) || substr(rest, 90, 2) || substr(rest, 93, 2) || substr(rest, 96, 2) || substr(rest, 99, 2)
            || substr(rest, 102, 6), '0123456789'::bytea) = ''::bytea
        and substr(rest, 188, 1) between '0'::bytea and '9'::bytea
        and ltrim(substr(rest, 188), '0123456789'::bytea) in (E'\nnot_modified true\n'::bytea, E'\nnot_modified false\n'::bytea);
end
$$;
-- +goose StatementEnd

-- log_append adds leaves in the order of the lists, all or none. A leaf that is there already is skipped; another leaf of its key, and bytes that are no
-- known leaf, are refused with the transaction that would say so. Where the log has not begun, nothing is added: log_import adds it later. A caller that
-- finds no log holds the lock that a log takes to begin, so that the log reads what the caller commits. That is the only lock on which an append waits:
-- no key of log_pending comes from a caller, so two appends never wait for each other. The lists are read in sub-selects: with lists whose length it
-- knows, Postgres would plan the statement again for each call.
-- +goose StatementBegin
create function log_append(p_log text, p_keys text[], p_leaves text[]) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    n bigint;
    odd text;
    formed boolean;
begin
    for look in 1 .. 2 loop
        insert into log_pending (log, key, leaf, formed)
        select p_log, t.key, convert_to(t.leaf, 'UTF8'), true
        from (select unnest((select p_keys)) as key, unnest((select p_leaves)) as leaf where exists (select from log_heads where log = p_log)) t
        where (select e.idx from log_entries e where e.log = p_log and e.key = t.key) is null;
        get diagnostics n = row_count;
        if n = cardinality(p_keys) then
            return;
        end if;
        exit when n > 0;
        perform pg_advisory_xact_lock_shared(hashtextextended('log begins', 0));
    end loop;
    select t.key, log_leaf_known(t.leaf) into odd, formed
    from (select unnest((select p_keys)) as key, convert_to(unnest((select p_leaves)), 'UTF8') as leaf) t
    where log_leaf_known(t.leaf) is not true or (select e.leaf from log_entries e where e.log = p_log and e.key = t.key) <> t.leaf limit 1;
    if formed then
        raise exception 'the log % has another leaf for %', p_log, odd using errcode = 'unique_violation';
    elsif found then
        raise exception 'what should become the leaf % of the log % is of no known form', odd, p_log using errcode = 'check_violation';
    end if;
end
$$;
-- +goose StatementEnd
revoke execute on function log_append(text, text[], text[]) from public;
grant execute on function log_append(text, text[], text[]) to tidemark_worker;

-- log_append of one leaf. Without rights and a path of its own, its text replaces its call.
-- +goose StatementBegin
create or replace function log_append(p_log text, p_key text, p_leaf text) returns void language sql as $$
    select public.log_append(p_log, array[p_key], array[p_leaf])
$$;
-- +goose StatementEnd

-- log_fetches adds a leaf for each archived body of a statement, in the order of the fetches. What a recording tool built is no publisher's answer, and
-- an error's page is no body.
-- +goose StatementBegin
create or replace function log_fetches() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform log_append('sources', array_agg(l.key), array_agg(l.leaf))
    from (
        select 'body:' || f.id as key, body_leaf(row(f.*)::fetches) as leaf
        from added f where f.status in (200, 304) and not f.constructed order by f.id
    ) l having count(*) > 0;
    return null;
end
$$;
-- +goose StatementEnd

-- log_entries_continue is that of 0081. It looks for the leaf before by its number: with "not exists" Postgres read the whole log to look for it.
-- +goose StatementBegin
create or replace function log_entries_continue() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    broken text;
begin
    select a.log into broken from (select log, min(idx) as first, max(idx) as last, count(*) as n from added group by log) a
    where (select h.size from log_heads h where h.log = a.log) is null or a.last - a.first <> a.n - 1
        or a.first > 0 and (select e.idx from log_entries e where e.log = a.log and e.idx = a.first - 1) is null
    limit 1;
    if found then
        raise exception 'leaves of the log % do not follow its last one', broken using errcode = 'foreign_key_violation';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function log_entries_continue() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
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
-- +goose StatementBegin
create or replace function log_fetches() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into log_pending (log, key, leaf, formed)
    select 'sources', l.key, convert_to(l.leaf, 'UTF8'), true
    from (
        select f.id, 'body:' || f.id as key, body_leaf(row(f.*)::fetches) as leaf
        from added f where f.status in (200, 304) and not f.constructed offset 0
    ) l
    where case
        when exists (select from log_heads where log = 'sources')
            and (select e.idx from log_entries e where e.log = 'sources' and e.key = l.key) is null then true
        else log_append('sources', l.key, l.leaf)::text <> '' end
    order by l.id;
    return null;
end
$$;
-- +goose StatementEnd
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
drop function log_append(text, text[], text[]);
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
