-- Ends sessions as the server itself would, and returns once they are gone with all that they held. pg_terminate_backend can wait too,
-- but looks ten times a second only; a simulation ends thousands of sessions.
create function simulation.end_sessions(pids int[]) returns void language plpgsql as $$
begin
    perform pg_terminate_backend(pid) from unnest(pids) as pid;
    for i in 1 .. 10000 loop
        exit when not exists (select from pg_stat_activity where pid = any (pids));
        perform pg_sleep(0.001);
        perform pg_stat_clear_snapshot();
    end loop;
end
$$;
