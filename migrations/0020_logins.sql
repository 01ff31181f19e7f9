-- The roles of the program log in by themselves, and can become nothing else. Their passwords are settings: `tidemark migrate` sets them.

-- +goose Up

-- +goose StatementBegin
do $$
declare
    r record;
begin
    -- Postgres 14 lets everybody create tables and functions in public.
    execute 'revoke create on schema public from public';
    -- What a role is a member of, it can become.
    for r in
        select g.rolname as granted, m.rolname as member
        from pg_auth_members a join pg_roles g on g.oid = a.roleid join pg_roles m on m.oid = a.member
        where m.rolname in ('tidemark_worker', 'tidemark_api')
    loop
        begin
            execute format('revoke %I from %I', r.granted, r.member);
        exception when insufficient_privilege or sqlstate 'XX000' then
            null; -- the program names what is left, and its API does not start
        end;
    end loop;
end
$$;
-- +goose StatementEnd

-- +goose Down
select 1;
