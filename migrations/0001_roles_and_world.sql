-- The two roles of the running program, and the world that a database belongs to.

-- +goose Up

-- Roles are shared by all databases of a server, so another migration may be creating them at this moment.
-- +goose StatementBegin
do $$
declare
    r text;
begin
    foreach r in array array['tidemark_worker', 'tidemark_api'] loop
        begin
            execute format('create role %I nologin', r);
        exception when duplicate_object or unique_violation then
            null;
        end;
        -- The migrating user must be able to become each of them.
        if not pg_has_role(current_user, r, 'member') then
            begin
                execute format('grant %I to current_user', r);
            exception when duplicate_object or unique_violation or sqlstate 'XX000' then
                null; -- granted by another migration at the same moment
            end;
        end if;
    end loop;
end
$$;
-- +goose StatementEnd

-- world says what this database records. It is fixed when the database is created: a live record and a demo never mix.
create table world (
    one        boolean     primary key default true check (one),
    name       text        not null check (name in ('live', 'replay', 'sandbox')),
    -- The time of the world where it is not the wall clock's. Null: the wall clock.
    clock_at   timestamptz,
    created_at timestamptz not null default now(),
    constraint live_runs_on_the_wall_clock check (name <> 'live' or clock_at is null)
);

-- +goose StatementBegin
create function world_guard() returns trigger language plpgsql as $$
begin
    if tg_op <> 'UPDATE' then
        raise exception 'the world of a database is never removed' using errcode = 'restrict_violation';
    end if;
    if new.name <> old.name or new.created_at <> old.created_at then
        raise exception 'this database belongs to the world %: use another database for the world %', old.name, new.name
            using errcode = 'restrict_violation';
    end if;
    if old.name = 'sandbox' and (old.clock_at is null) and new.clock_at is not null then
        raise exception 'the clock of this world follows the wall clock already' using errcode = 'restrict_violation';
    end if;
    if new.clock_at < old.clock_at and old.name = 'sandbox' then
        raise exception 'the clock of this world cannot run backwards' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger world_guard before update or delete on world for each row execute function world_guard();
create trigger world_guard_truncate before truncate on world for each statement execute function world_guard();

-- The world's time. Everything in the database that asks what time it is for the record asks here.
-- +goose StatementBegin
create function world_now() returns timestamptz language sql volatile as $$
    select coalesce((select clock_at from world), clock_timestamp())
$$;
-- +goose StatementEnd

-- append_only refuses every change of a row that is part of the record.
-- +goose StatementBegin
create function append_only() returns trigger language plpgsql as $$
begin
    raise exception 'table % is append-only: % is refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end
$$;
-- +goose StatementEnd

-- What the running program may know of the migrations.
create view schema_version as
select coalesce(max(version_id), 0) as version_id from goose_db_version where is_applied;
grant select on schema_version to tidemark_worker, tidemark_api;

grant select on world to tidemark_worker, tidemark_api;
grant insert on world to tidemark_worker;
grant update (clock_at) on world to tidemark_worker;

-- +goose Down
drop view schema_version;
drop function append_only();
drop function world_now();
drop table world;
drop function world_guard();
-- The roles stay: other databases of the server may use them.
