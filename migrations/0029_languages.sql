-- Languages come and go with the program, not with the schema: what is published has English, and any others.

-- +goose Up

alter function every_language rename to written;
-- written tells whether texts are there in English and perhaps in other languages, each with something in it.
-- +goose StatementBegin
create or replace function written(texts jsonb) returns boolean language sql immutable as $$
    select case when jsonb_typeof(texts) <> 'object' then false else texts ? 'en' and not exists (
        select from jsonb_each(texts) t where t.key !~ '^[a-z]{2,3}$' or jsonb_typeof(t.value) = 'null') end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function written(texts jsonb) returns boolean language sql immutable as $$
    select jsonb_typeof(texts) = 'object' and texts ?& array['es', 'en', 'pt', 'hi']
        and (select count(*) from jsonb_object_keys(texts)) = 4
$$;
-- +goose StatementEnd
alter function written rename to every_language;
