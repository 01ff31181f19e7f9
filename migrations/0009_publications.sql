-- What is published around the record: research, the model portfolio, events, macro events and the weekly digest. Percentages only: no
-- amount of money and no number of shares of a portfolio is anywhere.

-- +goose Up

-- every_language tells whether texts are there in exactly the four languages.
-- +goose StatementBegin
create function every_language(texts jsonb) returns boolean language sql immutable as $$
    select jsonb_typeof(texts) = 'object' and texts ?& array['es', 'en', 'pt', 'hi']
        and (select count(*) from jsonb_object_keys(texts)) = 4
$$;
-- +goose StatementEnd

-- A research card: what was written about a company from what was known as_of, with the closes of day. A later card of the company has
-- a later day; none is ever changed.
create table research (
    id           bigint      generated always as identity primary key,
    cik          bigint      not null,
    day          date        not null,
    -- The pick that the card belongs to; null for a company that was not picked that day.
    pick_seq     bigint      unique references picks (seq),
    ticker       text        not null check (ticker <> ''),
    name         text        not null,
    exchange     text        not null,
    sector       text        not null,
    region       text        not null,
    country      text        not null,
    as_of        timestamptz not null,
    fundamentals jsonb       not null,
    -- [{"id", "value", "unit", "as_of", "source"}]: every number that the texts name.
    facts        jsonb       not null check (jsonb_typeof(facts) = 'array'),
    sources      jsonb       not null check (jsonb_typeof(sources) = 'array'),
    -- By language: five texts, who wrote them, and the SHA-256 of the five.
    texts        jsonb       not null check (every_language(texts)),
    recorded_at  timestamptz not null default world_now(),
    unique (cik, day)
);

-- The cards as the public sees them: that of a pick only once the pick is announced.
create view published_research with (security_barrier) as
select r.id, r.cik, r.day, r.pick_seq, r.ticker, r.name, r.exchange, r.sector, r.region, r.country, r.as_of, r.fundamentals, r.facts,
    r.sources, r.texts, r.recorded_at
from research r
where r.pick_seq is null or exists (select from announced_picks a where a.seq = r.pick_seq);

-- The model portfolio at the close of each session. What became known later (a split that was reported late) makes a new edition of the
-- sessions that it changes; what was served stays. Percentages are not rounded.
create table portfolio_snapshots (
    date                       date             not null,
    edition                    int              not null check (edition >= 1),
    -- The prices are those known at this instant.
    as_of                      timestamptz      not null,
    return_pct                 double precision not null check (return_pct >= -100),
    benchmark_return_pct       double precision check (benchmark_return_pct >= -100),
    daily_return_pct           double precision not null check (daily_return_pct >= -100),
    benchmark_daily_return_pct double precision check (benchmark_daily_return_pct >= -100),
    drawdown_pct               double precision not null check (drawdown_pct between -100 and 0),
    positions                  int              not null check (positions >= 0),
    cash_pct                   double precision not null check (cash_pct between 0 and 100.000001),
    recorded_at                timestamptz      not null default world_now(),
    primary key (date, edition)
);

-- Editions count on from one, and a later one knows more.
-- +goose StatementBegin
create function portfolio_snapshots_guard() returns trigger language plpgsql as $$
declare
    last portfolio_snapshots%rowtype;
begin
    select * into last from portfolio_snapshots s where s.date = new.date order by s.edition desc limit 1;
    if new.edition <> coalesce(last.edition, 0) + 1 or new.as_of < last.as_of then
        raise exception 'edition % of the snapshot of % does not follow edition %', new.edition, new.date, coalesce(last.edition, 0)
            using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger portfolio_snapshots_guard before insert on portfolio_snapshots for each row execute function portfolio_snapshots_guard();

-- The portfolio as of the last session: one row, which the next session replaces. All of it can be reckoned again.
create table portfolio_state (
    one         boolean     primary key default true check (one),
    date        date        not null,
    as_of       timestamptz not null,
    performance jsonb       not null,
    positions   jsonb       not null,
    sectors     jsonb       not null,
    regions     jsonb       not null,
    recorded_at timestamptz not null default world_now()
);

-- The weights of each list add up to exactly 100 with the cash, and time does not run backwards.
-- +goose StatementBegin
create function portfolio_state_guard() returns trigger language plpgsql as $$
declare
    list jsonb;
begin
    foreach list in array array[new.sectors, new.regions] loop
        if (select sum((row ->> 'weight_pct')::numeric) from jsonb_array_elements(list) row) is distinct from 100 then
            raise exception 'the weights of the portfolio of % do not add up to 100', new.date using errcode = 'check_violation';
        end if;
    end loop;
    if (select coalesce(sum((row ->> 'weight_pct')::numeric), 0) from jsonb_array_elements(new.positions) row)
            + (new.performance ->> 'cash_pct')::numeric <> 100 then
        raise exception 'the positions of the portfolio of % and its cash do not add up to 100', new.date using errcode = 'check_violation';
    end if;
    if tg_op = 'UPDATE' and (new.date, new.as_of) < (old.date, old.as_of) then
        raise exception 'the portfolio of % is newer than that of %', old.date, new.date using errcode = 'restrict_violation';
    end if;
    new.recorded_at := world_now();
    return new;
end
$$;
-- +goose StatementEnd
create trigger portfolio_state_guard before insert or update on portfolio_state for each row execute function portfolio_state_guard();

-- What happened around the companies of the portfolio. The id follows from what an event is about, so that one found twice is one.
create table portfolio_events (
    id          text        collate "C" primary key check (id ~ '^ev_[a-z2-7]{26}$'),
    type        text        not null check (type in ('pick_announced', 'pick_closed', 'price_move', 'earnings', 'dividend', 'split',
        'rating', 'filing', 'news', 'signal_change')),
    severity    smallint    not null check (severity between 1 and 5),
    cik         bigint      not null,
    ticker      text        not null,
    occurred_at timestamptz not null,
    -- The place in the feed: it only grows, in the order in which rows become visible.
    recorded_at timestamptz not null,
    change_pct  double precision,
    source_url  text        not null,
    facts       jsonb       not null check (jsonb_typeof(facts) = 'array'),
    texts       jsonb       not null check (every_language(texts))
);
create unique index portfolio_events_feed on portfolio_events (recorded_at, id);
create index portfolio_events_by_time on portfolio_events (occurred_at);

-- +goose StatementBegin
create function portfolio_events_guard() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('portfolio_events', 0));
    if (select max(e.recorded_at) from portfolio_events e) > new.recorded_at then
        raise exception 'an event is recorded after those before it' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger portfolio_events_guard before insert on portfolio_events for each row execute function portfolio_events_guard();

-- The first print of a macro figure, and what is written about it.
create table economic_events (
    id           text        collate "C" primary key,
    indicator    text        not null,
    -- The day of the publication in New York, and the instant.
    date         date        not null,
    published_at timestamptz not null,
    -- Nobody saw the figure arrive: the instant is an assumption.
    assumed      boolean     not null,
    region       text        not null,
    -- The figures as they are told; null where unknown.
    actual       text        not null,
    expected     text,
    previous     text,
    revised      text,
    unit         text        not null,
    surprise_z   double precision,
    severity     smallint    not null check (severity between 1 and 5),
    importance   smallint    not null check (importance between 1 and 5),
    -- Among the events of a day the first is the event of the day.
    place        smallint    not null,
    sectors      text[]      not null,
    sources      jsonb       not null check (jsonb_typeof(sources) = 'array'),
    facts        jsonb       not null check (jsonb_typeof(facts) = 'array'),
    texts        jsonb       not null check (every_language(texts)),
    recorded_at  timestamptz not null default world_now()
);
create index economic_events_feed on economic_events (date desc, severity desc, place, published_at, id);

create table digests (
    week         text        collate "C" primary key check (week ~ '^[0-9]{4}-W[0-9]{2}$'),
    from_date    date        not null,
    to_date      date        not null check (to_date > from_date),
    as_of        timestamptz not null,
    -- Return, benchmark and excess of the week, what came and went, who contributed most and least.
    delta        jsonb       not null,
    -- In the order of the digest.
    events       text[]      not null,
    picks        bigint[]    not null,
    economic     text[]      not null,
    signals      jsonb       not null check (jsonb_typeof(signals) = 'array'),
    facts        jsonb       not null check (jsonb_typeof(facts) = 'array'),
    texts        jsonb       not null check (every_language(texts)),
    recorded_at  timestamptz not null default world_now()
);

-- What a person chose for a day in the place of the method's pick. The day's job takes it, or says why it does not.
create table editor_choices (
    id         bigint      generated always as identity primary key,
    date       date        not null,
    ticker     text        not null check (ticker <> ''),
    -- The close that the editor expects; null where the choice does not depend on it.
    price      text,
    reason     text        not null check (reason <> ''),
    by         text        not null check (by <> ''),
    state      text        not null default 'waiting' check (state in ('waiting', 'taken', 'refused', 'withdrawn')),
    note       text,
    created_at timestamptz not null default world_now()
);
create unique index editor_choices_standing on editor_choices (date) where state in ('waiting', 'taken');

-- +goose StatementBegin
create function editor_choices_guard() returns trigger language plpgsql as $$
begin
    if to_jsonb(new) - 'state' - 'note' <> to_jsonb(old) - 'state' - 'note' or old.state <> 'waiting' then
        raise exception 'the editor''s choice of % was %', old.date, old.state using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger editor_choices_guard before update on editor_choices for each row execute function editor_choices_guard();

create trigger append_only before update or delete on research for each row execute function append_only();
create trigger append_only_truncate before truncate on research for each statement execute function append_only();
create trigger append_only before update or delete on portfolio_snapshots for each row execute function append_only();
create trigger append_only_truncate before truncate on portfolio_snapshots for each statement execute function append_only();
create trigger append_only before update or delete on portfolio_events for each row execute function append_only();
create trigger append_only_truncate before truncate on portfolio_events for each statement execute function append_only();
create trigger append_only before update or delete on economic_events for each row execute function append_only();
create trigger append_only_truncate before truncate on economic_events for each statement execute function append_only();
create trigger append_only before update or delete on digests for each row execute function append_only();
create trigger append_only_truncate before truncate on digests for each statement execute function append_only();

-- Whoever shows publications hears that there are new ones: the table's name.
-- +goose StatementBegin
create function publications_changed() returns trigger language plpgsql as $$
begin
    perform pg_notify('publications', tg_table_name);
    return null;
end
$$;
-- +goose StatementEnd
create trigger publications_changed after insert on research for each row execute function publications_changed();
create trigger publications_changed after insert on portfolio_snapshots for each row execute function publications_changed();
create trigger publications_changed after insert or update on portfolio_state for each row execute function publications_changed();
create trigger publications_changed after insert on portfolio_events for each row execute function publications_changed();
create trigger publications_changed after insert on economic_events for each row execute function publications_changed();
create trigger publications_changed after insert on digests for each row execute function publications_changed();

grant select, insert on research, portfolio_snapshots, portfolio_state, portfolio_events, economic_events, digests, editor_choices
    to tidemark_worker;
grant update on portfolio_state to tidemark_worker;
grant update (state, note) on editor_choices to tidemark_worker;
grant select on published_research to tidemark_worker;
grant select on published_research, portfolio_snapshots, portfolio_state, portfolio_events, economic_events, digests to tidemark_api;

-- +goose Down
drop table editor_choices;
drop table digests;
drop table economic_events;
drop table portfolio_events;
drop table portfolio_state;
drop table portfolio_snapshots;
drop view published_research;
drop table research;
drop function publications_changed();
drop function editor_choices_guard();
drop function portfolio_events_guard();
drop function portfolio_state_guard();
drop function portfolio_snapshots_guard();
drop function every_language(jsonb);
