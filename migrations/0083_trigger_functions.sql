-- Functions of triggers that run with the rights of their owner are for the triggers of these tables alone. A role that may make a temporary table could
-- put such a function on it, and so add to the log what no publisher sent, or reveal a pick.

-- +goose Up
-- +goose StatementBegin
do $$
declare
    f regprocedure;
begin
    for f in
        select p.oid::regprocedure from pg_proc p
        where p.pronamespace = 'public'::regnamespace and p.prosecdef and p.prorettype = 'trigger'::regtype
    loop
        execute format('revoke execute on function %s from public', f);
    end loop;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
do $$
declare
    f regprocedure;
begin
    for f in
        select p.oid::regprocedure from pg_proc p
        where p.pronamespace = 'public'::regnamespace and p.prosecdef and p.prorettype = 'trigger'::regtype
            and p.proname <> 'ledger_moves_balance' and p.proname <> 'plan_changes_move_end'
    loop
        execute format('grant execute on function %s to public', f);
    end loop;
end
$$;
-- +goose StatementEnd
