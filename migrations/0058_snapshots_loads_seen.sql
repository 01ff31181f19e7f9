-- +goose Up

-- The id of the newest load among the data that a snapshot was computed from: it saw that load and all before it, and none after it. Null for
-- snapshots of older programs, whose place among the loads is guessed from clocks.
alter table snapshots add column loads_seen bigint;

-- +goose Down

alter table snapshots drop column loads_seen;
