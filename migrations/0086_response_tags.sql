-- The secret behind the ETags of responses that have a price. Every API process of the installation reads it, together with a key. Without it a client
-- cannot compute the tag of a response that it never had, and so cannot ask for free whether a guess is right.

-- +goose Up
alter table billing_settings add column tag_secret bytea not null
    default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    check (octet_length(tag_secret) = 32);

-- +goose Down
alter table billing_settings drop column tag_secret;
