-- The whole backups of the installation: `tidemark backup` adds a row once its folder is whole and on disk. So an alert can tell of a backup that failed or
-- was never begun.

-- +goose Up
create table backups (
    -- When the backup began, by the wall clock of its machine.
    began_at timestamptz primary key
);
create trigger append_only before update or delete on backups for each row execute function append_only();
create trigger append_only_truncate before truncate on backups for each statement execute function append_only();
grant select, insert on backups to tidemark_worker;

-- +goose Down
drop table backups;
