-- Where the rows of each statement lie in their series. Who keeps a series in memory then reads only what was added.

-- +goose Up

create table arrivals (
    series        text        not null,
    -- Counts what added rows to the series. The key makes it serial: whoever sees a number sees all before it, with their rows.
    n             int         not null,
    -- The observation times of the added rows, and the newest of their vintages.
    observed_from timestamptz not null,
    observed_to   timestamptz not null,
    vintage_to    timestamptz not null,
    primary key (series, n)
);

lock table observations in share row exclusive mode;
insert into arrivals (series, n, observed_from, observed_to, vintage_to)
select series, 1, min(observed_at), max(observed_at), max(vintage_at) from observations group by series;

-- It also looks whether the fetches are there, as observations_have_fetches did: both need one pass over the rows.
-- +goose StatementBegin
create function observations_arrive() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    missing bigint;
begin
    with a as materialized (
        select series, fetch_id, min(observed_at) as observed_from, max(observed_at) as observed_to, max(vintage_at) as vintage_to
        from added group by series, fetch_id
    ), noted as (
        insert into arrivals (series, n, observed_from, observed_to, vintage_to)
        select a.series, coalesce((select max(b.n) from arrivals b where b.series = a.series), 0) + 1, min(a.observed_from), max(a.observed_to),
            max(a.vintage_to)
        from a group by a.series
        order by a.series
    )
    select a.fetch_id into missing from a where not exists (select from fetches f where f.id = a.fetch_id) limit 1;
    if found then
        raise exception 'an observation names fetch %, which is not in the ledger', missing using errcode = 'foreign_key_violation';
    end if;
    return null;
end
$$;
-- +goose StatementEnd
drop trigger observations_have_fetches on observations;
create trigger observations_arrive after insert on observations referencing new table as added
    for each statement execute function observations_arrive();

create trigger append_only before update or delete on arrivals for each row execute function append_only();
create trigger append_only_truncate before truncate on arrivals for each statement execute function append_only();
grant select on arrivals to tidemark_worker, tidemark_api;

-- +goose Down
drop trigger observations_arrive on observations;
drop function observations_arrive();
create trigger observations_have_fetches after insert on observations referencing new table as added
    for each statement execute function observations_have_fetches();
drop table arrivals;
