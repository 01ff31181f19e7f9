-- What the throwaway database of a simulation has beyond the migrations: a clock that is set from outside. Statements of the program
-- find these functions before those of the system, by their search path; functions, defaults of columns and triggers of the schema are
-- made again to ask them. The clock is a sequence: it is set outside of transactions, and every session sees it at once.

create schema simulation;
grant usage on schema simulation to public;

create sequence simulation.clock as bigint minvalue 0 start 0;
grant select on simulation.clock to public;

create function simulation.clock_timestamp() returns timestamptz language sql volatile as
    $$ select timestamptz 'epoch' + last_value * interval '1 microsecond' from simulation.clock $$;
create function simulation.now() returns timestamptz language sql volatile as
    $$ select timestamptz 'epoch' + last_value * interval '1 microsecond' from simulation.clock $$;

do $$
declare
    clock constant text := '(?<![_.[:alnum:]])(clock_timestamp|now)\(\)';
    r     record;
begin
    for r in
        select pg_get_functiondef(p.oid) as made
        from pg_proc p
        where p.pronamespace = 'public'::regnamespace and p.prokind = 'f' and p.prosrc ~ clock
    loop
        execute regexp_replace(r.made, clock, 'simulation.\1()', 'g');
    end loop;
    for r in
        select d.adrelid::regclass as relation, a.attname, pg_get_expr(d.adbin, d.adrelid) as made
        from pg_attrdef d
        join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
        join pg_class c on c.oid = d.adrelid
        where c.relnamespace = 'public'::regnamespace and pg_get_expr(d.adbin, d.adrelid) ~ clock
    loop
        execute format('alter table %s alter column %I set default %s', r.relation, r.attname,
            regexp_replace(r.made, clock, 'simulation.\1()', 'g'));
    end loop;
end
$$;
