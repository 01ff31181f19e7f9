-- When the bytes behind a signal came. What was published before the first of them has an assumed time of publication.

-- +goose Up

-- When the last of the signal's inputs was loaded for the first time. Null: one was not yet, or an older program computed it.
alter table snapshots add column first_ingested_at timestamptz;

-- +goose Down
alter table snapshots drop column first_ingested_at;
