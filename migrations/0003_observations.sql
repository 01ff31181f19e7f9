-- What: fetched bytes, observations with their vintages, and the snapshots computed from them.

-- +goose Up

create table fetches (
    id           bigint      generated always as identity primary key,
    source       text        not null,
    url          text        not null,
    status       int         not null,
    header       jsonb       not null default '{}',
    fetched_at   timestamptz not null,
    sha256       text        not null check (sha256 ~ '^[0-9a-f]{64}$'),
    bytes        bigint      not null,
    not_modified boolean     not null default false,
    synthetic    boolean     not null default false,
    constructed  boolean     not null default false,
    run_id       bigint,
    recorded_at  timestamptz not null default clock_timestamp()
);
create index fetches_by_url on fetches (source, url, fetched_at desc, id desc);

create table observations (
    series      text             not null,
    observed_at timestamptz      not null,
    vintage_at  timestamptz      not null,
    value       double precision,
    -- Why there is no number: 'withdrawn', or the publisher's own sign.
    marker      text,
    -- Nobody saw it arrive: vintage_at is observed_at plus the publication lag measured for the series.
    assumed     boolean          not null default false,
    fetch_id    bigint           not null references fetches (id),
    primary key (series, observed_at, vintage_at),
    check ((value is null) <> (marker is null)),
    check (value <> 'NaN' and value < 'Infinity' and value > '-Infinity')
);

-- One row per series once its first load is complete. Until then what a load brings has an assumed vintage, also when the load
-- was interrupted and begun again.
create table watermarks (
    series          text        primary key,
    first_loaded_at timestamptz not null,
    -- The fetch that confirmed the series last, and when.
    fetch_id        bigint      not null references fetches (id),
    confirmed_at    timestamptz not null
);

create table snapshots (
    signal          text        not null,
    -- The instant the snapshot is for: it is computed from what was known then.
    at              timestamptz not null,
    status          text        not null check (status in ('live', 'decayed', 'deprecated')),
    observed_at     timestamptz,
    known_at        timestamptz,
    value           double precision,
    lo              double precision,
    hi              double precision,
    baseline        double precision,
    scale           double precision,
    z_score         double precision,
    delta_pct       double precision,
    n               int         not null default 0,
    components      jsonb       not null default '[]',
    -- The fetches behind the inputs: [{"url","sha256","fetched_at","source"}].
    inputs          jsonb       not null default '[]',
    synthetic       boolean     not null,
    code_version    text        not null,
    run_id          bigint,
    computed_at     timestamptz not null default clock_timestamp(),
    primary key (signal, at)
);

-- +goose StatementBegin
create function snapshots_changed() returns trigger language plpgsql as $$
begin
    perform pg_notify('snapshots', new.signal);
    return null;
end
$$;
-- +goose StatementEnd
create trigger snapshots_changed after insert or update on snapshots for each row execute function snapshots_changed();

create trigger append_only before update or delete on fetches for each row execute function append_only();
create trigger append_only_truncate before truncate on fetches for each statement execute function append_only();
create trigger append_only before update or delete on observations for each row execute function append_only();
create trigger append_only_truncate before truncate on observations for each statement execute function append_only();

grant select, insert on fetches, observations to tidemark_worker;
grant select, insert, update on watermarks, snapshots to tidemark_worker;
grant select on fetches, observations, watermarks, snapshots to tidemark_api;

-- +goose Down
drop table snapshots;
drop function snapshots_changed();
drop table watermarks;
drop table observations;
drop table fetches;
