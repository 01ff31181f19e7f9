-- A body is looked up by its hash (/raw/{sha256}).

-- +goose Up
create index fetches_by_sha256 on fetches (sha256);

-- +goose Down
drop index fetches_by_sha256;
