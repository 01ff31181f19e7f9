-- Time stamps of RFC 3161 over the checkpoints that hold seals (TSA_URL): a third party's word on when a size existed.

-- +goose Up
create table log_timestamps (
    log       text        not null,
    size      bigint      not null,
    -- The authority's whole answer, as it is served. It is over the SHA-256 of the checkpoint's text without its signatures.
    reply     bytea       not null check (octet_length(reply) between 1 and 65536),
    -- What it states, and the name in the authority's certificate.
    at        timestamptz not null,
    authority text        not null,
    stored_at timestamptz not null default clock_timestamp(),
    primary key (log, size),
    foreign key (log, size) references log_checkpoints (log, size)
);
create trigger append_only before update or delete on log_timestamps for each row execute function append_only();
create trigger append_only_truncate before truncate on log_timestamps for each statement execute function append_only();
-- Answers about a seal name its stamp.
create trigger record_changed after insert on log_timestamps for each row execute function record_changed();

grant select, insert on log_timestamps to tidemark_worker;
grant select on log_timestamps to tidemark_api;

-- +goose Down
drop table log_timestamps;
