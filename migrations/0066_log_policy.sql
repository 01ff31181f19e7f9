-- The operator's policy, by which this server judges its own record: who cosigned counts by it (docs/hash-chain.md, Verdicts).

-- +goose Up

-- The text of LOG_WITNESSES, empty without one.
alter table log_heads add column policy text not null default '';

-- Whoever shows the record hears that the quorum cosigned: the verdict on it may be another one then.
create trigger record_changed after update of witnessed_at on log_checkpoints for each row
    when (new.log = 'record' and old.witnessed_at is null and new.witnessed_at is not null) execute function record_changed();

-- +goose Down
drop trigger record_changed on log_checkpoints;
alter table log_heads drop column policy;
