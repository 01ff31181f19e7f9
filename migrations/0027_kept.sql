-- What is no change of a publisher in the history of a signal.

-- +goose Up

-- A point that is gone although no publisher withdrew it: at its instant nothing at all was known here yet, or another program computed.
-- Of what is stored, a point that went while no value was withdrawn is such.
alter table estimates add column kept boolean not null default false;
alter table estimates disable trigger append_only;
update estimates e set kept = true
where e.gone and not exists (
    select from observations o
    where o.marker is not null and o.vintage_at <= e.known_at and o.vintage_at > (
        select max(b.known_at) from estimates b where b.signal = e.signal and b.observed_at = e.observed_at and b.known_at < e.known_at));
alter table estimates enable trigger append_only;

-- +goose Down
alter table estimates drop column kept;
