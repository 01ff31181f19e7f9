-- The portfolio is gone on from its last sessions: a day costs what that day brings, however long the record is.

-- +goose Up

-- The portfolio after a session with all that the next one needs: of the newest sessions, and of the last one of each month. All of it can be
-- reckoned again, and a later instant may know better. json, and not jsonb, since it keeps every bit of a number.
create table portfolio_checkpoints (
    date        date        primary key,
    -- The prices are those known at this instant. Of an older session they are known to be those of the newest one's, too.
    known_until timestamptz not null,
    state       json        not null
);
grant select, insert, update, delete on portfolio_checkpoints to tidemark_worker;

-- What became known since an instant is found without looking at what was known before.
create index bars_known on bars (known_at);
create index actions_known on actions (known_at);
create index filings_known on filings (known_at);
create index companies_known on companies (known_at);
create index actions_successor on actions (successor) where successor is not null;
create index picks_of on picks (cik, seq);

-- +goose Down
drop index picks_of;
drop index actions_successor;
drop index companies_known;
drop index filings_known;
drop index actions_known;
drop index bars_known;
drop table portfolio_checkpoints;
