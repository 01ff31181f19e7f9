-- +goose Up

-- When the numbers of a snapshot were stored, and so from when on anybody could be served them, in the world's time. Its instant is earlier: it
-- says what was known by then. Null for snapshots of older programs.
alter table snapshots add column served_at timestamptz;

-- +goose Down

alter table snapshots drop column served_at;
