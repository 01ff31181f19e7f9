-- What all companies that the method scored returned at equal weight, session by session: the portfolio is compared with it, too. Each row has
-- the companies of its day, whose return the next row measures. A row is never changed, so later corrections of prices are not in it.

-- +goose Up
create table universe_days (
    day        date             primary key,
    companies  bigint[]         not null check (cardinality(companies) > 0),
    -- How many companies of the row before had a close on its day, and their mean total return since, in percent. Zero and null in the first row.
    measured   int              not null check (measured >= 0),
    return_pct double precision check (return_pct >= -100 and return_pct < 'Infinity'),
    as_of      timestamptz      not null,
    check ((measured = 0) = (return_pct is null))
);
create trigger append_only before update or delete on universe_days for each row execute function append_only();
create trigger append_only_truncate before truncate on universe_days for each statement execute function append_only();

grant select, insert on universe_days to tidemark_worker;
grant select on universe_days to tidemark_api;

-- +goose Down
drop table universe_days;
