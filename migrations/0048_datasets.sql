-- The daily data set: a row for each set, and the bytes of its files by their SHA-256. A set is published in one transaction, and never
-- changed.

-- +goose Up
create table datasets (
    day          date        primary key,
    as_of        timestamptz not null,
    -- [{"name", "title", "license", "sha256", "bytes", "rows", "columns", ...}]
    tables       jsonb       not null check (jsonb_typeof(tables) = 'array'),
    published_at timestamptz not null default world_now(),
    created_at   timestamptz not null default clock_timestamp()
);

create table dataset_files (
    sha256  text  collate "C" primary key check (sha256 = encode(sha256(content), 'hex')),
    content bytea not null
);
alter table dataset_files alter column content set storage external; -- it is compressed already

grant select, insert, delete on datasets, dataset_files to tidemark_worker;
grant select on datasets, dataset_files to tidemark_api;

-- +goose Down
drop table dataset_files;
drop table datasets;
