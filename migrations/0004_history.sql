-- The history of the signals as it was said: every version of every point, why a signal has the state it has, and what its backtest
-- found.

-- +goose Up

-- A version of one point of a signal: what was said of observed_at from known_at on, until the next version. known_at is the instant
-- that was computed. What holds at an instant is the newest version at or before it; a point whose newest version is gone is not
-- there.
create table estimates (
    id             bigint           generated always as identity,
    signal         text             not null,
    observed_at    timestamptz      not null,
    known_at       timestamptz      not null,
    -- Raised where an instant that was computed already came out otherwise, because more was known of it then.
    edition        smallint         not null default 0,
    gone           boolean          not null default false,
    value          double precision,
    lo             double precision,
    hi             double precision,
    baseline       double precision,
    scale          double precision,
    n              int              not null default 0,
    z_score        double precision,
    delta_pct      double precision,
    -- When the newest of the point's inputs became known.
    input_known_at timestamptz,
    primary key (signal, observed_at, known_at, edition),
    check (gone = (input_known_at is null)),
    check (not gone or num_nonnulls(value, lo, hi, baseline, scale, z_score, delta_pct) = 0),
    -- NaN counts as larger than every number.
    check ('-Infinity' < all (array[value, lo, hi, baseline, scale, z_score, delta_pct])
        and 'Infinity' > all (array[value, lo, hi, baseline, scale, z_score, delta_pct]))
);
-- Versions of one signal are numbered in the order of their commits: whoever has read up to an id asks for those after it.
create index estimates_added on estimates (signal, id);

create trigger append_only before update or delete on estimates for each row execute function append_only();
create trigger append_only_truncate before truncate on estimates for each statement execute function append_only();

-- Each change of a signal's state. The one in force at an instant is the newest at or before it.
create table signal_states (
    id          bigint      generated always as identity primary key,
    signal      text        not null,
    at          timestamptz not null,
    state       text        not null check (state in ('live', 'decayed', 'deprecated')),
    cause       text        not null check (cause <> ''),
    -- A run of the signal's job, or the operator.
    by          text        not null check (by <> ''),
    recorded_at timestamptz not null default clock_timestamp()
);
create index signal_states_of on signal_states (signal, at, id);

create trigger append_only before update or delete on signal_states for each row execute function append_only();
create trigger append_only_truncate before truncate on signal_states for each statement execute function append_only();

alter table snapshots
    -- What the oldest point of the track was about.
    add column covers_from timestamptz,
    -- Why the status is what it is.
    add column cause       text        not null default '',
    add column backtest    jsonb,
    -- Whether the backtest's out-of-sample interval excludes zero. Null: it has none.
    add column edge        boolean;
create index snapshots_computed on snapshots (signal, at, computed_at);
create index snapshots_edge on snapshots (signal, at, edge) where edge is not null;

grant select, insert on estimates, signal_states to tidemark_worker;
grant select on estimates, signal_states to tidemark_api;

-- +goose Down
drop index snapshots_edge;
drop index snapshots_computed;
alter table snapshots drop column covers_from, drop column cause, drop column backtest, drop column edge;
drop table signal_states;
drop table estimates;
