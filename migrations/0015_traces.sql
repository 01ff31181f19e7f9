-- Where a run stands in which trace.

-- +goose Up
-- As W3C Trace Context writes it. A run that other work has made necessary goes on with the trace of that work.
alter table runs add column trace text check (trace ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$');

-- +goose Down
alter table runs drop column trace;
