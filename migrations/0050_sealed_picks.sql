-- Sealed picks and the registry of methods (docs/transparency-log.md). The log gets a salted commitment to a pick in the transaction that
-- records it, and its opening in the transaction that announces it. A version of a method that ran on history is a row, and a leaf.

-- +goose Up

-- Every version of every method that was tried, adopted or dropped. The newest adopted row of a name is what counts now.
create table methods (
    id      bigint      generated always as identity primary key,
    name    text        collate "C" not null check (name ~ '^[a-z0-9][a-z0-9._-]{0,79}$'),
    version text        collate "C" not null check (version ~ '^[A-Za-z0-9][A-Za-z0-9.+_-]{0,79}$'),
    status  text        not null check (status in ('tried', 'adopted', 'dropped')),
    -- Of what makes the version: its code and parameters.
    sha256  text        not null check (sha256 ~ '^[0-9a-f]{64}$'),
    note    text        not null check (not note_fault(note)),
    at      timestamptz not null default world_now()
);
create index methods_of on methods (name, version, status);
create trigger append_only before update or delete on methods for each row execute function append_only();
create trigger append_only_truncate before truncate on methods for each statement execute function append_only();

-- record_method adds a row, unless the version has that status. It reports whether the row is new.
-- +goose StatementBegin
create function record_method(p_name text, p_version text, p_status text, p_sha256 text, p_note text) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    latest methods%rowtype;
begin
    perform pg_advisory_xact_lock(hashtextextended('methods', 0));
    if p_status = 'adopted' then
        select * into latest from methods where name = p_name and status = 'adopted' order by id desc limit 1;
    else
        select * into latest from methods where name = p_name and version = p_version and status = p_status and sha256 = p_sha256 limit 1;
    end if;
    if (latest.version, latest.sha256) = (p_version, p_sha256) then
        return false;
    end if;
    insert into methods (name, version, status, sha256, note) values (p_name, p_version, p_status, p_sha256, p_note);
    return true;
end
$$;
-- +goose StatementEnd
revoke execute on function record_method from public;
grant execute on function record_method to tidemark_worker;
grant select on methods to tidemark_worker, tidemark_api;

-- +goose StatementBegin
create function method_leaf(m methods) returns text language sql immutable as $$
    select format(E'tidemark/method/v1\nname %s\nversion %s\nstatus %s\nsha256 %s\nnote %s\nat %s\n',
        m.name, m.version, m.status, m.sha256, m.note, log_time(m.at))
$$;
-- +goose StatementEnd

-- The commitment to a pick. No role reads the salt: the triggers below do.
create table pick_seals (
    seq         bigint      primary key references picks (seq),
    date        text        collate "C" not null unique,
    salt        bytea       not null check (octet_length(salt) = 32),
    commitment  text        not null unique,
    method      text        not null,
    reveal_by   timestamptz not null,
    sealed_at   timestamptz not null,
    -- The number of its leaf, null until it has one.
    idx         bigint,
    -- When the pick was announced.
    revealed_at timestamptz
);

-- +goose StatementBegin
create function pick_seals_guard() returns trigger language plpgsql as $$
begin
    if tg_op <> 'UPDATE' then
        raise exception 'a seal is never removed' using errcode = 'restrict_violation';
    end if;
    if (new.seq, new.date, new.salt, new.commitment, new.method, new.reveal_by, new.sealed_at)
            is distinct from (old.seq, old.date, old.salt, old.commitment, old.method, old.reveal_by, old.sealed_at)
        or old.idx is not null and new.idx is distinct from old.idx
        or old.revealed_at is not null and new.revealed_at is distinct from old.revealed_at then
        raise exception 'the seal of % never changes', old.date using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger pick_seals_guard before update or delete on pick_seals for each row execute function pick_seals_guard();
create trigger pick_seals_guard_truncate before truncate on pick_seals for each statement execute function pick_seals_guard();

-- seal_content is what is committed to: what the chain hashes.
-- +goose StatementBegin
create function seal_content(p picks) returns bytea language sql immutable as $$
    select convert_to(p.ticker || '|' || p.price || '|' || p.date || '|' || p.previous_hash, 'UTF8')
$$;
-- +goose StatementEnd

-- seal_pick seals a pick in its own transaction, where a log is kept. Three random UUIDs have 366 random bits.
-- +goose StatementBegin
create function seal_pick() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    s pick_seals%rowtype;
begin
    if not exists (select from log_heads where log = 'record') then
        return null;
    end if;
    insert into pick_seals (seq, date, salt, commitment, method, reveal_by, sealed_at)
    select new.seq, new.date, r.salt, encode(sha256(convert_to(E'tidemark/seal/v1\n', 'UTF8') || r.salt || seal_content(new)), 'hex'),
        'picks/' || coalesce((select version from methods where name = 'picks' and status = 'adopted' order by id desc limit 1), 'unregistered'),
        new.announce_at + interval '10 minutes', new.appended_at
    from (select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as salt) r
    returning * into s;
    perform log_append('record', 'seal:pick:' || s.date, format(E'tidemark/seal/v1\nabout pick %s\ncommitment %s\nmethod %s\nreveal_by %s\nat %s\n',
        s.date, s.commitment, s.method, log_time(s.reveal_by), log_time(s.sealed_at)));
    return null;
end
$$;
-- +goose StatementEnd
create trigger seal_pick after insert on picks for each row execute function seal_pick();

-- reveal_leaf opens a seal. Its leaf names the number of the seal's.
-- +goose StatementBegin
create function reveal_leaf(s pick_seals) returns text language sql stable as $$
    select format(E'tidemark/reveal/v1\nseal %s\nabout pick %s\nsalt %s\ncontent %s\nat %s\n',
        s.idx, s.date, encode(s.salt, 'hex'), replace(encode(seal_content(p), 'base64'), E'\n', ''), log_time(s.revealed_at))
    from picks p where p.seq = s.seq
$$;
-- +goose StatementEnd

-- The reveal is added by the announcement, or with the number of the seal if the announcement came first. Both update the row of the seal,
-- so that one of them sees the other.
-- +goose StatementBegin
create function reveal_pick(p_seq bigint, p_at timestamptz) returns void language plpgsql security definer set search_path = public, pg_temp as $$
declare
    s pick_seals%rowtype;
begin
    update pick_seals set revealed_at = p_at where seq = p_seq returning * into s;
    if s.idx is not null then
        perform log_append('record', 'reveal:pick:' || s.date, reveal_leaf(s));
    end if;
end
$$;
-- +goose StatementEnd
revoke execute on function reveal_pick from public;

-- +goose StatementBegin
create function seal_numbered() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
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
create trigger seal_numbered after insert on log_entries for each row when (new.log = 'record' and new.key ^@ 'seal:pick:') execute function seal_numbered();

-- +goose StatementBegin
create or replace function log_record() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    case tg_table_name
        when 'announcements' then
            perform reveal_pick(new.seq, new.announced_at);
            perform log_append('record', 'pick:' || p.seq, pick_leaf(p, new.announced_at)) from picks p where p.seq = new.seq;
        when 'gaps' then perform log_append('record', 'gap:' || new.date, gap_leaf(new));
        when 'corrections' then perform log_append('record', 'correction:' || new.id, correction_leaf(new));
        when 'forecasts' then perform log_append('record', 'forecast:' || new.seq, forecast_leaf(new));
        when 'forecast_grades' then perform log_append('record', 'grade:' || new.seq, grade_leaf(new));
        when 'methods' then perform log_append('record', 'method:' || new.id, method_leaf(new));
        when 'fetches' then perform log_append('sources', 'body:' || new.id, body_leaf(new));
    end case;
    return null;
end
$$;
-- +goose StatementEnd
create trigger log_record after insert on methods for each row execute function log_record();

-- +goose StatementBegin
create or replace function log_import(p_log text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf)
    select p_log, key, convert_to(leaf, 'UTF8') from (
        select 'pick:' || p.seq as key, pick_leaf(p, a.announced_at) as leaf, a.announced_at as at, 1 as kind, p.seq as n
        from picks p join announcements a using (seq) where p_log = 'record'
        union all
        select 'gap:' || g.date, gap_leaf(g), g.recorded_at, 2, 0 from gaps g where p_log = 'record'
        union all
        select 'correction:' || c.id, correction_leaf(c), c.recorded_at, 3, c.id from corrections c where p_log = 'record'
        union all
        select 'forecast:' || f.seq, forecast_leaf(f), f.issued_at, 4, f.seq from forecasts f where p_log = 'record'
        union all
        select 'grade:' || g.seq, grade_leaf(g), g.graded_at, 5, g.seq from forecast_grades g where p_log = 'record'
        union all
        select 'method:' || m.id, method_leaf(m), m.at, 6, m.id from methods m where p_log = 'record'
    ) past order by at, kind, n;
    insert into log_pending (log, key, leaf)
    select p_log, 'body:' || f.id, convert_to(body_leaf(f), 'UTF8')
    from fetches f where p_log = 'sources' and f.status in (200, 304) and not f.constructed order by f.id;
$$;
-- +goose StatementEnd

-- The seals as the public sees them: those that a signed size holds.
create view sealed_picks with (security_barrier) as
select s.date, s.commitment, s.method, s.reveal_by, s.sealed_at, s.idx, w.witnessed_at, s.revealed_at, case when r.idx < h.size then r.idx end as reveal_idx
from pick_seals s
join log_heads h on h.log = 'record' and s.idx < h.size
left join log_entries r on r.log = 'record' and r.key = 'reveal:pick:' || s.date
left join lateral (
    select c.witnessed_at from log_checkpoints c
    where c.log = 'record' and c.size > s.idx and c.witnessed_at is not null order by c.size limit 1) w on true;
grant select on sealed_picks to tidemark_api, tidemark_worker;
grant select (seq, date, commitment, method, reveal_by, sealed_at, idx, revealed_at) on pick_seals to tidemark_worker;

-- +goose Down
drop view sealed_picks;
drop trigger log_record on methods;
-- +goose StatementBegin
create or replace function log_record() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    case tg_table_name
        when 'announcements' then
            perform log_append('record', 'pick:' || p.seq, pick_leaf(p, new.announced_at)) from picks p where p.seq = new.seq;
        when 'gaps' then perform log_append('record', 'gap:' || new.date, gap_leaf(new));
        when 'corrections' then perform log_append('record', 'correction:' || new.id, correction_leaf(new));
        when 'forecasts' then perform log_append('record', 'forecast:' || new.seq, forecast_leaf(new));
        when 'forecast_grades' then perform log_append('record', 'grade:' || new.seq, grade_leaf(new));
        when 'fetches' then perform log_append('sources', 'body:' || new.id, body_leaf(new));
    end case;
    return null;
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function log_import(p_log text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf)
    select p_log, key, convert_to(leaf, 'UTF8') from (
        select 'pick:' || p.seq as key, pick_leaf(p, a.announced_at) as leaf, a.announced_at as at, 1 as kind, p.seq as n
        from picks p join announcements a using (seq) where p_log = 'record'
        union all
        select 'gap:' || g.date, gap_leaf(g), g.recorded_at, 2, 0 from gaps g where p_log = 'record'
        union all
        select 'correction:' || c.id, correction_leaf(c), c.recorded_at, 3, c.id from corrections c where p_log = 'record'
        union all
        select 'forecast:' || f.seq, forecast_leaf(f), f.issued_at, 4, f.seq from forecasts f where p_log = 'record'
        union all
        select 'grade:' || g.seq, grade_leaf(g), g.graded_at, 5, g.seq from forecast_grades g where p_log = 'record'
    ) past order by at, kind, n;
    insert into log_pending (log, key, leaf)
    select p_log, 'body:' || f.id, convert_to(body_leaf(f), 'UTF8')
    from fetches f where p_log = 'sources' and f.status in (200, 304) and not f.constructed order by f.id;
$$;
-- +goose StatementEnd
drop trigger seal_numbered on log_entries;
drop function seal_numbered();
drop function reveal_pick(bigint, timestamptz);
drop function reveal_leaf(pick_seals);
drop trigger seal_pick on picks;
drop function seal_pick();
drop function seal_content(picks);
drop table pick_seals;
drop function pick_seals_guard();
drop function method_leaf(methods);
drop function record_method(text, text, text, text, text);
drop table methods;
