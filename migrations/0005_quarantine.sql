-- Answers that failed the checks between parse and observations, what was found, and who decided what becomes of them.

-- +goose Up

-- One row per body, or per set of bodies that are one release. Nothing of it is in the observations unless it was accepted.
create table quarantine (
    id          bigint      generated always as identity primary key,
    source      text        not null,
    -- The body's SHA-256, or that of the list of them where the answer has pages.
    digest      text        not null check (digest ~ '^[0-9a-f]{64}$'),
    -- The run that met it first.
    run_id      bigint,
    -- [{"check", "severity", "series", "from", "to", "seen", "expected"}]
    findings    jsonb       not null,
    -- The world's time of the answer.
    created_at  timestamptz not null,
    -- The decision in force: when in the world's time, by whom and why. All of them are in quarantine_decisions.
    decision    text        not null default 'pending' check (decision in ('pending', 'accepted', 'rejected')),
    decided_at  timestamptz,
    decided_by  text        check (decided_by <> ''),
    reason      text        check (reason <> ''),
    recorded_at timestamptz not null default clock_timestamp(),
    check ((decision = 'pending') = (num_nonnulls(decided_at, decided_by, reason) = 0)),
    check (decision = 'pending' or num_nulls(decided_at, decided_by, reason) = 0)
);
-- The same body again is the same row, until it was accepted: what is known has changed then.
create unique index quarantine_standing on quarantine (source, digest) where decision <> 'accepted';

-- Every fetch that brought the body, with the place of its page.
create table quarantined_fetches (
    fetch_id      bigint not null references fetches (id) primary key,
    quarantine_id bigint not null references quarantine (id),
    page          int    not null
);
create index quarantined_fetches_of on quarantined_fetches (quarantine_id, page, fetch_id);

create table quarantine_decisions (
    id            bigint      generated always as identity primary key,
    quarantine_id bigint      not null references quarantine (id),
    decision      text        not null,
    decided_at    timestamptz not null,
    decided_by    text        not null,
    reason        text        not null,
    recorded_at   timestamptz not null default clock_timestamp()
);
create index quarantine_decisions_of on quarantine_decisions (quarantine_id, id);

-- What was found stands. A decision may be made once, and a rejection may be taken back; what was accepted is in the observations.
-- +goose StatementBegin
create function quarantine_guard() returns trigger language plpgsql as $$
begin
    if tg_op <> 'UPDATE' then
        raise exception 'table quarantine keeps what it has: % is refused', tg_op using errcode = 'restrict_violation';
    end if;
    if (new.id, new.source, new.digest, new.findings, new.created_at, new.recorded_at) is distinct from
            (old.id, old.source, old.digest, old.findings, old.created_at, old.recorded_at)
        or new.run_id is distinct from old.run_id then
        raise exception 'what was quarantined cannot be changed' using errcode = 'restrict_violation';
    end if;
    if (old.decision, new.decision) not in (('pending', 'accepted'), ('pending', 'rejected'), ('rejected', 'accepted')) then
        raise exception 'quarantine % was %: it cannot become %', old.id, old.decision, new.decision using errcode = 'restrict_violation';
    end if;
    insert into quarantine_decisions (quarantine_id, decision, decided_at, decided_by, reason)
    values (new.id, new.decision, new.decided_at, new.decided_by, new.reason);
    return new;
end
$$;
-- +goose StatementEnd
create trigger quarantine_guard before update or delete on quarantine for each row execute function quarantine_guard();
create trigger quarantine_guard_truncate before truncate on quarantine for each statement execute function quarantine_guard();

create trigger append_only before update or delete on quarantined_fetches for each row execute function append_only();
create trigger append_only_truncate before truncate on quarantined_fetches for each statement execute function append_only();
create trigger append_only before update or delete on quarantine_decisions for each row execute function append_only();
create trigger append_only_truncate before truncate on quarantine_decisions for each statement execute function append_only();

-- What the checks said about the answers of a run, those that were stored too. A run that is begun again begins without.
alter table runs add column findings jsonb not null default '[]';

-- +goose StatementBegin
create function runs_begin_again() returns trigger language plpgsql as $$
begin
    new.findings := '[]';
    return new;
end
$$;
-- +goose StatementEnd
create trigger runs_begin_again before update of status on runs for each row
    when (old.status in ('succeeded', 'failed', 'skipped') and new.status = 'due') execute function runs_begin_again();

grant select, insert on quarantine, quarantined_fetches, quarantine_decisions to tidemark_worker;
grant update (decision, decided_at, decided_by, reason) on quarantine to tidemark_worker;
grant select on quarantine, quarantined_fetches, quarantine_decisions to tidemark_api;

-- +goose Down
drop trigger runs_begin_again on runs;
drop function runs_begin_again();
alter table runs drop column findings;
drop table quarantine_decisions;
drop table quarantined_fetches;
drop table quarantine;
drop function quarantine_guard();
