-- What reports say of risks (item 1A of a 10-K or 10-Q), as their documents have it: the headings of the risks, or paragraphs where there are none.

-- +goose Up
create table risk_factors (
    cik          bigint      not null check (cik > 0),
    accession    text        not null check (accession <> ''),
    known_at     timestamptz not null,
    state        text        not null check (state in ('read', 'unchanged', 'omitted', 'elsewhere', 'not_found')),
    by_paragraph boolean     not null,
    risks        text[]      not null,
    words        int         not null check (words >= 0),
    fetch_id     bigint      not null references fetches (id),
    primary key (cik, accession),
    check ((state = 'read') = (cardinality(risks) > 0))
);
create trigger append_only before update or delete on risk_factors for each row execute function append_only();
create trigger append_only_truncate before truncate on risk_factors for each statement execute function append_only();
-- Pages of companies show them.
create trigger publications_changed after insert on risk_factors for each row execute function publications_changed();

grant select, insert on risk_factors to tidemark_worker;
grant select on risk_factors to tidemark_api;

-- +goose Down
drop table risk_factors;
