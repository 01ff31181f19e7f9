-- What operators are told of runs.

-- +goose Up

-- The newest attempt ended in an error that is not expected to pass by itself, so somebody is told before the last attempt.
alter table runs add column lasting boolean not null default false;

-- +goose Down
alter table runs drop column lasting;
