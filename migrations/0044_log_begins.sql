-- An installation without a log keeps no leaves: what was said before a log begins is read from its own tables when it does.

-- +goose Up

-- log_append is the only way to add a leaf. Where the log has not begun, nothing is added: log_import adds it later. Whoever finds no log
-- holds the lock that a log takes to begin, so that it reads what they commit.
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

-- log_lock_begin makes a log that begins wait for all who found none. It comes in a statement before log_import.
-- +goose StatementBegin
create function log_lock_begin() returns void language sql as $$
    select pg_advisory_xact_lock(hashtextextended('log begins', 0))
$$;
-- +goose StatementEnd

-- log_import adds what there was before the log began. A checkpoint says that it was there by then, and no more.
-- +goose StatementBegin
create function log_import(p_log text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf)
    select p_log, key, convert_to(leaf, 'UTF8') from (
        select 'pick:' || p.seq as key, pick_leaf(p, a.announced_at) as leaf, a.announced_at as at, 1 as kind, p.seq as n
        from picks p join announcements a using (seq) where p_log = 'record'
        union all
        select 'gap:' || g.date, gap_leaf(g), g.recorded_at, 2, 0 from gaps g where p_log = 'record'
        union all
        select 'correction:' || c.id, correction_leaf(c), c.recorded_at, 3, c.id from corrections c where p_log = 'record'
    ) past order by at, kind, n;
    insert into log_pending (log, key, leaf)
    select p_log, 'body:' || f.id, convert_to(body_leaf(f), 'UTF8')
    from fetches f where p_log = 'sources' and f.status in (200, 304) and not f.constructed order by f.id;
$$;
-- +goose StatementEnd
revoke execute on function log_import from public;
grant execute on function log_import to tidemark_worker;

-- What waits for a log that never began is read again when one does.
delete from log_pending p where not exists (select from log_heads h where h.log = p.log);

-- +goose Down
drop function log_import(text);
drop function log_lock_begin();
-- +goose StatementBegin
create or replace function log_append(p_log text, p_key text, p_leaf text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf) values (p_log, p_key, convert_to(p_leaf, 'UTF8'))
$$;
-- +goose StatementEnd
