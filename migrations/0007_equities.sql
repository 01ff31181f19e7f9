-- Companies, what they filed, how their shares traded, and what is written about them. Every row has two times: when it is about or
-- was published (filed, accepted_at, date), and known_at, when it was fetched. Nothing is overwritten: what is said anew of the same
-- thing is its next edition. What holds as of an instant is the highest edition that was known by then. Dates are New York's.

-- +goose Up

-- A company as it was known from known_at on. The first edition is its entry into the universe, which it never leaves.
create table companies (
    cik             bigint      not null check (cik > 0),
    edition         int         not null check (edition >= 0),
    known_at        timestamptz not null,
    name            text        not null check (name <> ''),
    -- Null in this and the next two: unknown.
    sic             int         check (sic between 1 and 9999),
    location        text        check (location <> ''),
    fiscal_year_end text        check (fiscal_year_end ~ '^[0-9]{4}$'),
    fetch_id        bigint      not null references fetches (id),
    primary key (cik, edition)
);

-- The tickers of an edition through time, all of them. Of those that hold on one day the first in place stands for the company.
create table listings (
    cik        bigint   not null,
    edition    int      not null,
    place      smallint not null,
    ticker     text     not null check (ticker <> ''),
    -- The ISO 10383 code. Null: unknown.
    exchange   text     check (exchange <> ''),
    -- The first and the last day, both included. Null: before our records; still.
    valid_from date,
    valid_to   date,
    primary key (cik, edition, place),
    foreign key (cik, edition) references companies (cik, edition),
    check (valid_to >= valid_from)
);

create table filings (
    cik         bigint      not null check (cik > 0),
    accession   text        not null check (accession <> ''),
    edition     int         not null check (edition >= 0),
    known_at    timestamptz not null,
    form        text        not null check (form <> ''),
    filed       date        not null,
    accepted_at timestamptz,
    period      date,
    items       text[]      not null default '{}',
    url         text        not null,
    fetch_id    bigint      not null references fetches (id),
    primary key (cik, accession, edition)
);
create index filings_by_date on filings (cik, filed);
create index filings_restated on filings (cik, accession, edition) where edition > 0;

-- What one filing says of one period. What a later filing says of it is another fact, and counts from its own day on.
create table facts (
    cik        bigint           not null check (cik > 0),
    taxonomy   text             not null,
    tag        text             not null,
    unit       text             not null,
    -- The period's last day, and its length in days with both ends; a length of 0 is the instant at the end of the day.
    period_end date             not null,
    days       int              not null check (days >= 0),
    accession  text             not null check (accession <> ''),
    edition    int              not null check (edition >= 0),
    known_at   timestamptz      not null,
    form       text             not null,
    filed      date             not null,
    value      double precision not null check (value > '-Infinity' and value < 'Infinity'),
    -- The fiscal year and period of the filing.
    fy         int,
    fp         text,
    fetch_id   bigint           not null references fetches (id),
    primary key (cik, tag, period_end, days, accession, unit, taxonomy, edition)
);
create index facts_restated on facts (cik, tag, period_end, days, accession, unit, taxonomy, edition) where edition > 0;

-- One day's trading by one publisher, in the prices and the number of shares of that day. Prices are hashed as they were published,
-- with as many decimals: numeric keeps those.
create table bars (
    cik      bigint      not null check (cik > 0),
    source   text        not null check (source <> ''),
    date     date        not null,
    edition  int         not null check (edition >= 0),
    known_at timestamptz not null,
    open     numeric     check (open > 0 and open < 'Infinity'),
    high     numeric     check (high > 0 and high < 'Infinity'),
    low      numeric     check (low > 0 and low < 'Infinity'),
    close    numeric     not null check (close > 0 and close < 'Infinity'),
    volume   bigint      not null check (volume >= 0),
    fetch_id bigint      not null references fetches (id),
    primary key (cik, source, date, edition)
);
create index bars_restated on bars (cik, source, date, edition) where edition > 0;

-- What happened to the shares before the opening of a day, by one publisher.
create table actions (
    cik        bigint           not null check (cik > 0),
    source     text             not null check (source <> ''),
    date       date             not null,
    kind       text             not null check (kind in ('split', 'dividend', 'merger', 'delisting')),
    edition    int              not null check (edition >= 0),
    known_at   timestamptz      not null,
    new_shares double precision check (new_shares > 0 and new_shares < 'Infinity'),
    old_shares double precision check (old_shares > 0 and old_shares < 'Infinity'),
    cash       numeric          check (cash > 0 and cash < 'Infinity'),
    successor  bigint           check (successor > 0),
    -- The publisher no longer states it.
    withdrawn  boolean          not null default false,
    fetch_id   bigint           not null references fetches (id),
    primary key (cik, source, date, kind, edition),
    check ((new_shares is null) = (old_shares is null)),
    check (kind <> 'split' or new_shares is not null),
    check (kind <> 'dividend' or cash is not null)
);
create index actions_restated on actions (cik, source, date, kind, edition) where edition > 0;

-- Headlines, as they were when they were first seen.
create table news (
    source       text        not null check (source <> ''),
    id           text        not null check (id <> ''),
    known_at     timestamptz not null,
    companies    bigint[]    not null default '{}',
    title        text        not null check (title <> ''),
    summary      text        not null,
    url          text        not null,
    published_at timestamptz not null,
    fetch_id     bigint      not null references fetches (id),
    primary key (source, id)
);
create index news_of on news using gin (companies);

-- What a source was asked last about a company. A source that has nothing about it was asked too.
create table equity_watermarks (
    source       text        not null,
    cik          bigint      not null,
    confirmed_at timestamptz not null,
    primary key (source, cik)
);

-- +goose StatementBegin
do $$
declare
    t text;
begin
    foreach t in array array['companies', 'listings', 'filings', 'facts', 'bars', 'actions', 'news'] loop
        execute format('create trigger append_only before update or delete on %I for each row execute function append_only()', t);
        execute format('create trigger append_only_truncate before truncate on %I for each statement execute function append_only()', t);
        execute format('grant select, insert on %I to tidemark_worker', t);
        execute format('grant select on %I to tidemark_api', t);
    end loop;
end
$$;
-- +goose StatementEnd
grant select, insert, update on equity_watermarks to tidemark_worker;
grant select on equity_watermarks to tidemark_api;

-- +goose Down
drop table equity_watermarks;
drop table news;
drop table actions;
drop table bars;
drop table facts;
drop table filings;
drop table listings;
drop table companies;
