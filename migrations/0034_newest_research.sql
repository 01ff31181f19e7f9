-- +goose Up

-- Picks are announced in their order and without a gap, so that the number of the newest announced one tells of each card whether it is public.
-- Asked card by card, the planner read all picks and announcements for each question.
create or replace view published_research with (security_barrier) as
select r.id, r.cik, r.day, r.pick_seq, r.ticker, r.name, r.exchange, r.sector, r.region, r.country, r.as_of, r.fundamentals, r.facts,
    r.sources, r.texts, r.recorded_at
from research r
where r.pick_seq is null or r.pick_seq <= (select max(seq) from announcements);

-- The newest public card of each company: from one company to the next it is a step in the index (cik, day), past all older cards.
create view newest_research with (security_barrier) as
with recursive c as (
    (select cik from research order by cik limit 1)
    union all
    select (select r.cik from research r where r.cik > c.cik order by r.cik limit 1) from c where c.cik is not null
)
select n.id, n.cik, n.ticker, n.name, n.exchange, n.sector, n.region, n.country, n.recorded_at
from c cross join lateral (
    select r.id, r.cik, r.ticker, r.name, r.exchange, r.sector, r.region, r.country, r.recorded_at
    from research r
    where r.cik = c.cik and (r.pick_seq is null or r.pick_seq <= (select max(seq) from announcements))
    order by r.day desc
    limit 1
) n;

-- The first pick of each company, once it is announced. Asked of announced_picks, each company cost a pass over all announcements.
create view first_picks with (security_barrier) as
with recursive c as (
    (select cik from picks order by cik limit 1)
    union all
    select (select p.cik from picks p where p.cik > c.cik order by p.cik limit 1) from c where c.cik is not null
)
select c.cik, f.seq, f.date, a.announced_at
from c
cross join lateral (select p.seq, p.date from picks p where p.cik = c.cik order by p.seq limit 1) f
cross join lateral (select announced_at from announcements where seq = f.seq limit 1) a;

grant select on newest_research, first_picks to tidemark_worker, tidemark_api;

-- +goose Down
drop view first_picks;
drop view newest_research;
create or replace view published_research with (security_barrier) as
select r.id, r.cik, r.day, r.pick_seq, r.ticker, r.name, r.exchange, r.sector, r.region, r.country, r.as_of, r.fundamentals, r.facts,
    r.sources, r.texts, r.recorded_at
from research r
where r.pick_seq is null or exists (select from announced_picks a where a.seq = r.pick_seq);
