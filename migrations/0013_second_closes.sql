-- +goose Up

-- What a second publisher of prices says of a day's close. It is held against the close that picks are made with, and nothing else is made
-- of it. A close that is said otherwise later is another edition.
create table second_closes (
    date     date        not null,
    cik      bigint      not null check (cik > 0),
    source   text        not null check (source <> ''),
    edition  int         not null check (edition >= 0),
    known_at timestamptz not null,
    close    numeric     not null check (close > 0 and close < 'Infinity'),
    fetch_id bigint      not null references fetches (id),
    primary key (date, cik, source, edition)
);
create trigger append_only before update or delete on second_closes for each row execute function append_only();
create trigger append_only_truncate before truncate on second_closes for each statement execute function append_only();
grant select, insert on second_closes to tidemark_worker;

-- +goose Down
drop table second_closes;
