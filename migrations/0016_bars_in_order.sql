-- Bars are read in the order of their primary key, all editions of a restated one with them: nobody looks for later editions by themselves.
-- +goose Up
drop index bars_restated;

-- +goose Down
create index bars_restated on bars (cik, source, date, edition) where edition > 0;
