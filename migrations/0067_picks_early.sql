-- Sealed picks that readers who pay may see before the announcement (PICKS_EARLY), once witnesses hold the seal.

-- +goose Up

-- What the workers' setting says. The API's role cannot change it.
alter table log_heads add column picks_early boolean not null default false;

-- early_pick returns the newest pick that waits for its announcement, with the opening of its seal: where the operator allows it, and a signed
-- size with the seal has a quorum of the operator's witnesses. The API's role has no other way to a pick before its announcement.
-- +goose StatementBegin
create function early_pick() returns table (
    ticker text, price text, date text, previous_hash text, hash text, name text, exchange text, sector text, region text, country text,
    currency text, origin text, announce_at timestamptz, sealed_at timestamptz, witnessed_at timestamptz, idx bigint, commitment text, salt text,
    content text)
language sql stable security definer set search_path = public, pg_temp as $$
    select p.ticker, p.price, p.date, p.previous_hash, p.hash, p.name, p.exchange, p.sector, p.region, p.country, p.currency, p.origin,
        p.announce_at, s.sealed_at, w.witnessed_at, s.idx, s.commitment, encode(s.salt, 'hex'), convert_from(seal_content(p), 'UTF8')
    from log_heads h
    join pick_seals s on s.idx < h.size
    join picks p using (seq)
    cross join lateral (
        select c.witnessed_at from log_checkpoints c
        where c.log = 'record' and c.size > s.idx and c.witnessed_at is not null order by c.size limit 1) w
    where h.log = 'record' and h.picks_early and h.stopped is null and s.seq > (select coalesce(max(a.seq), 0) from announcements a)
    order by s.seq desc limit 1
$$;
-- +goose StatementEnd
revoke execute on function early_pick() from public;
grant execute on function early_pick() to tidemark_api;

-- +goose Down
drop function early_pick();
alter table log_heads drop column picks_early;
