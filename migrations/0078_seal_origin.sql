-- +goose Up
-- The seal of a pick says who made it: a version of the method, or an editor. Seals of editors' picks named the method before.
-- +goose StatementBegin
create or replace function seal_pick() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    s pick_seals%rowtype;
begin
    if not exists (select from log_heads where log = 'record') then
        return null;
    end if;
    insert into pick_seals (seq, date, salt, commitment, method, reveal_by, sealed_at)
    select new.seq, new.date, r.salt, encode(sha256(convert_to(E'tidemark/seal/v1\n', 'UTF8') || r.salt || seal_content(new)), 'hex'),
        case new.origin
            when 'editor' then 'editor'
            else 'picks/' || coalesce((select version from methods where name = 'picks' and status = 'adopted' order by id desc limit 1), 'unregistered')
        end,
        new.announce_at + interval '10 minutes', new.appended_at
    from (select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as salt) r
    returning * into s;
    perform log_append('record', 'seal:pick:' || s.date, format(E'tidemark/seal/v1\nabout pick %s\ncommitment %s\nmethod %s\nreveal_by %s\nat %s\n',
        s.date, s.commitment, s.method, log_time(s.reveal_by), log_time(s.sealed_at)));
    return null;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function seal_pick() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
    s pick_seals%rowtype;
begin
    if not exists (select from log_heads where log = 'record') then
        return null;
    end if;
    insert into pick_seals (seq, date, salt, commitment, method, reveal_by, sealed_at)
    select new.seq, new.date, r.salt, encode(sha256(convert_to(E'tidemark/seal/v1\n', 'UTF8') || r.salt || seal_content(new)), 'hex'),
        'picks/' || coalesce((select version from methods where name = 'picks' and status = 'adopted' order by id desc limit 1), 'unregistered'),
        new.announce_at + interval '10 minutes', new.appended_at
    from (select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as salt) r
    returning * into s;
    perform log_append('record', 'seal:pick:' || s.date, format(E'tidemark/seal/v1\nabout pick %s\ncommitment %s\nmethod %s\nreveal_by %s\nat %s\n',
        s.date, s.commitment, s.method, log_time(s.reveal_by), log_time(s.sealed_at)));
    return null;
end
$$;
-- +goose StatementEnd
