-- The API answers from what workers have made of the facts in filings, and does not read them.

-- +goose Up
revoke select on facts, news, equity_watermarks from tidemark_api;

-- +goose Down
grant select on facts, news, equity_watermarks to tidemark_api;
