-- The secret behind the ETags of responses that have a price. Every API process of the installation reads it, together with a key. Without it a client
-- cannot compute the tag of a response that it never had, and so cannot ask for free whether a guess is right.

-- +goose Up
alter table billing_settings add column tag_secret bytea not null
    default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    check (octet_length(tag_secret) = 32);

-- A version of a point cannot be known before the newest of its inputs. This also holds where triggers are switched off. An estimate that is dated
-- ahead, as the final of a crop year, has no earlier time than its date. Rows of older programs are no reason to refuse the migration: if one
-- contradicts, the check is for new rows alone.
alter table estimates add constraint known_after_inputs check (input_known_at <= greatest(known_at, observed_at)) not valid;
-- +goose StatementBegin
do $$
begin
    alter table estimates validate constraint known_after_inputs;
exception when check_violation then
    raise notice 'the history has versions that are older than their inputs: tidemark explain --url names them';
end
$$;
-- +goose StatementEnd

-- +goose Down
alter table estimates drop constraint known_after_inputs;
alter table billing_settings drop column tag_secret;
