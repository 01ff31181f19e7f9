-- Each data set is a leaf of the transparency log, written in its own transaction. The leaf has the hash of what the set says of itself, byte by
-- byte as it is served. Sets from before have no such text, and no leaf.

-- +goose Up
alter table datasets add column contents text check (octet_length(contents) <= 1048576);

-- +goose StatementBegin
create function dataset_leaf(d datasets) returns text language sql stable as $$
    select format(E'tidemark/dataset/v1\ndate %s\nas_of %s\nsha256 %s\nfiles %s\nat %s\n', to_char(d.day, 'YYYY-MM-DD'), log_time(d.as_of),
        encode(sha256(convert_to(d.contents, 'UTF8')), 'hex'), jsonb_array_length(d.tables), log_time(d.published_at))
$$;
-- +goose StatementEnd

-- log_leaf_listed is log_leaf_known of 0064.
alter function log_leaf_known(bytea) rename to log_leaf_listed;

-- log_leaf_known reports whether a leaf has a form that a reader knows. Most leaves are bodies, so they are not compared with other forms.
-- +goose StatementBegin
create function log_leaf_known(leaf bytea) returns boolean language plpgsql immutable as $$
begin
    if substr(leaf, 1, 20) is distinct from '\x746964656d61726b2f646174617365742f76310a'::bytea then -- tidemark/dataset/v1 and a line feed
        return log_leaf_listed(leaf);
    end if;
    return octet_length(leaf) <= 8192 and coalesce(encode(leaf, 'escape') ~ ('^tidemark/dataset/v1\n'
        || replace('date [0-9]{4}-[0-9]{2}-[0-9]{2}\nas_of @\nsha256 [0-9a-f]{64}\nfiles [0-9]+\nat @\n',
            '@', '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z') || '$'), false);
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function log_dataset() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform log_append('record', 'dataset:' || to_char(new.day, 'YYYY-MM-DD'), dataset_leaf(new));
    return null;
end
$$;
-- +goose StatementEnd
create trigger log_dataset after insert on datasets for each row when (new.contents is not null) execute function log_dataset();

-- log_import is that of 0050, and has the data sets.
-- +goose StatementBegin
create or replace function log_import(p_log text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf)
    select p_log, key, convert_to(leaf, 'UTF8') from (
        select 'pick:' || p.seq as key, pick_leaf(p, a.announced_at) as leaf, a.announced_at as at, 1 as kind, p.seq as n
        from picks p join announcements a using (seq) where p_log = 'record'
        union all
        select 'gap:' || g.date, gap_leaf(g), g.recorded_at, 2, 0 from gaps g where p_log = 'record'
        union all
        select 'correction:' || c.id, correction_leaf(c), c.recorded_at, 3, c.id from corrections c where p_log = 'record'
        union all
        select 'forecast:' || f.seq, forecast_leaf(f), f.issued_at, 4, f.seq from forecasts f where p_log = 'record'
        union all
        select 'grade:' || g.seq, grade_leaf(g), g.graded_at, 5, g.seq from forecast_grades g where p_log = 'record'
        union all
        select 'method:' || m.id, method_leaf(m), m.at, 6, m.id from methods m where p_log = 'record'
        union all
        select 'dataset:' || to_char(d.day, 'YYYY-MM-DD'), dataset_leaf(d), d.published_at, 7, 0 from datasets d
        where p_log = 'record' and d.contents is not null
    ) past order by at, kind, n;
    insert into log_pending (log, key, leaf)
    select p_log, 'body:' || f.id, convert_to(body_leaf(f), 'UTF8')
    from fetches f where p_log = 'sources' and f.status in (200, 304) and not f.constructed order by f.id;
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function log_import(p_log text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into log_pending (log, key, leaf)
    select p_log, key, convert_to(leaf, 'UTF8') from (
        select 'pick:' || p.seq as key, pick_leaf(p, a.announced_at) as leaf, a.announced_at as at, 1 as kind, p.seq as n
        from picks p join announcements a using (seq) where p_log = 'record'
        union all
        select 'gap:' || g.date, gap_leaf(g), g.recorded_at, 2, 0 from gaps g where p_log = 'record'
        union all
        select 'correction:' || c.id, correction_leaf(c), c.recorded_at, 3, c.id from corrections c where p_log = 'record'
        union all
        select 'forecast:' || f.seq, forecast_leaf(f), f.issued_at, 4, f.seq from forecasts f where p_log = 'record'
        union all
        select 'grade:' || g.seq, grade_leaf(g), g.graded_at, 5, g.seq from forecast_grades g where p_log = 'record'
        union all
        select 'method:' || m.id, method_leaf(m), m.at, 6, m.id from methods m where p_log = 'record'
    ) past order by at, kind, n;
    insert into log_pending (log, key, leaf)
    select p_log, 'body:' || f.id, convert_to(body_leaf(f), 'UTF8')
    from fetches f where p_log = 'sources' and f.status in (200, 304) and not f.constructed order by f.id;
$$;
-- +goose StatementEnd
drop trigger log_dataset on datasets;
drop function log_dataset();
drop function log_leaf_known(bytea);
alter function log_leaf_listed(bytea) rename to log_leaf_known;
drop function dataset_leaf(datasets);
alter table datasets drop column contents;
