-- Whoever shows the record hears that the log of the record has grown: a pick's place in it, a seal, and a reveal are shown then.

-- +goose Up
create trigger record_changed after update of size on log_heads for each row
    when (new.log = 'record' and new.size > old.size) execute function record_changed();

-- +goose Down
drop trigger record_changed on log_heads;
