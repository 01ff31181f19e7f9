-- What the interval of a snapshot rests on, and how often such intervals held what they bound.

-- +goose Up

-- {"basis","record"}. Null: the program that computed it did not measure intervals.
alter table snapshots add column uncertainty jsonb;

-- +goose Down
alter table snapshots drop column uncertainty;
