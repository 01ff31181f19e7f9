-- The rank of a pick among the companies scored that day.

-- +goose Up
alter table picks add column rank integer check (rank > 0);

drop function append_pick(text, text, text, bigint, text, text, text, text, text, text, text, text, timestamptz);
-- +goose StatementBegin
create function append_pick(
    ticker text, price text, date text, cik bigint, name text, exchange text, sector text, region text, country text, currency text,
    origin text, reason text, announce_at timestamptz, rank integer, out seq bigint, out added boolean
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
        reason, announce_at, appended_at, rank)
    select append_pick.seq, append_pick.ticker, append_pick.price, append_pick.date, h.previous,
        pick_hash(append_pick.ticker, append_pick.price, append_pick.date, h.previous),
        append_pick.cik, append_pick.name, append_pick.exchange, append_pick.sector, append_pick.region, append_pick.country,
        append_pick.currency, append_pick.origin, append_pick.reason,
        coalesce(append_pick.announce_at, (record_today() || ' 18:00')::timestamp at time zone 'America/New_York'), world_now(), append_pick.rank
    from (select coalesce(head.hash, repeat('0', 64)) as previous) h;
end
$$;
-- +goose StatementEnd
revoke execute on function append_pick(text, text, text, bigint, text, text, text, text, text, text, text, text, timestamptz, integer) from public;
grant execute on function append_pick(text, text, text, bigint, text, text, text, text, text, text, text, text, timestamptz, integer) to tidemark_worker;

create or replace view announced_picks with (security_barrier) as
select p.seq, p.ticker, p.price, p.date, p.previous_hash, p.hash, p.cik, p.name, p.exchange, p.sector, p.region, p.country, p.currency,
    p.origin, p.reason, p.appended_at, a.announced_at, p.rank
from picks p
join announcements a using (seq);

-- +goose Down
drop view announced_picks; -- "create or replace" cannot take a column away
create view announced_picks with (security_barrier) as
select p.seq, p.ticker, p.price, p.date, p.previous_hash, p.hash, p.cik, p.name, p.exchange, p.sector, p.region, p.country, p.currency,
    p.origin, p.reason, p.appended_at, a.announced_at
from picks p
join announcements a using (seq);
grant select on announced_picks to tidemark_worker, tidemark_api;

drop function append_pick(text, text, text, bigint, text, text, text, text, text, text, text, text, timestamptz, integer);
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

alter table picks drop column rank;
