-- A record that nobody lived through: a pick of each of some days, of one company after the other, at its close, announced in time, with a card.
-- The chain is true, and so are prices as far as they go back; before, each company stands still at its first close.
create function pg_temp.make_up_record(days text[]) returns void language plpgsql as $$
declare
    ciks     bigint[];
    head     text := repeat('0', 64);
    v_day    text;
    who      bigint;
    paid     text;
    company  record;
    sha      text;
    n        bigint := 0;
begin
    set local session_replication_role = replica;
    insert into bars (cik, source, date, edition, known_at, open, high, low, close, volume, fetch_id)
    select b.cik, b.source, d.day::date, 0, b.known_at, b.open, b.high, b.low, b.close, b.volume, b.fetch_id
    from (select distinct on (cik, source) * from bars order by cik, source, date, edition) b, unnest(days) as d (day)
    where d.day::date < b.date;
    ciks := array(
        select distinct c.cik from companies c join listings l using (cik)
        where exists (select from bars b where b.cik = c.cik and b.date = days[1]::date) and l.valid_to is null
        order by 1);
    foreach v_day in array days loop
        for i in 1 .. cardinality(ciks) loop
            who := ciks[1 + (n + i) % cardinality(ciks)];
            select close::text into paid from bars b where b.cik = who and b.date = v_day::date order by edition desc limit 1;
            exit when found;
        end loop;
        if paid is null then
            raise exception 'no company has a close of %', v_day;
        end if;
        select c.name, l.ticker into company from companies c join listings l using (cik, edition)
        where c.cik = who order by c.edition desc, l.valid_to desc nulls first, l.place limit 1;
        n := n + 1;
        sha := pick_hash(company.ticker, paid, v_day, head);
        insert into picks (seq, ticker, price, date, previous_hash, hash, cik, name, exchange, sector, region, country, currency, origin, reason,
            announce_at, appended_at)
        values (n, company.ticker, paid, v_day, head, sha, who, company.name, 'XNYS', 'Technology', 'North America', 'US', 'USD', 'method', 'made up',
            (v_day || ' 18:00')::timestamp at time zone 'America/New_York', (v_day || ' 17:30')::timestamp at time zone 'America/New_York');
        insert into announcements (seq, announced_at) values (n, (v_day || ' 18:00')::timestamp at time zone 'America/New_York');
        insert into ledger_entries (seq, at) values (n, (v_day || ' 18:00')::timestamp at time zone 'America/New_York');
        insert into research (cik, day, pick_seq, ticker, name, exchange, sector, region, country, as_of, fundamentals, facts, sources, texts)
        values (who, v_day::date, n, company.ticker, company.name, 'XNYS', 'Technology', 'North America', 'US',
            (v_day || ' 17:28')::timestamp at time zone 'America/New_York', '{}', '[]', '[]', (
                select jsonb_object_agg(lang, jsonb_build_object('summary_why', 'Made up.', 'what_it_does', 'Made up.', 'why_chosen', 'Made up.',
                    'main_risk', 'Made up.', 'full_research', repeat(sha || ' ', 60), 'writer', 'rules', 'content_sha256', sha))
                from unnest(array['es', 'en', 'pt', 'hi']) as t (lang)))
        on conflict (cik, day) do nothing;
        head := sha;
    end loop;
    set local session_replication_role = origin;
end
$$;
