-- Which companies have facts that became known since an instant is found without looking at what was known before. A worker keeps the facts of
-- its last pick, and reads those companies again.
-- +goose Up
create index facts_known on facts (known_at);

-- +goose Down
drop index facts_known;
