-- The status of a signal follows from stale inputs and from the record of its forecasts. Whether a backtest had an edge decides nothing any
-- more; the backtest itself stays in each snapshot.

-- +goose Up

drop index snapshots_edge;
alter table snapshots drop column edge;

-- +goose Down

alter table snapshots add column edge boolean;
create index snapshots_edge on snapshots (signal, at, edge) where edge is not null;
