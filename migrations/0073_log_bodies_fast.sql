-- +goose Up
-- Most leaves are bodies, and each is compared with its form twice: when it is added, and when it gets its number. The comparison of 0064 went
-- through text, character by character; this one compares bytes.

-- log_leaf_known reports whether a leaf has a form that a reader knows. It never fails, whatever the bytes are.
-- +goose StatementBegin
create or replace function log_leaf_known(leaf bytea) returns boolean language plpgsql immutable as $$
declare
    ends int;
    rest bytea;
    at bytea;
begin
    if substr(leaf, 1, 17) is distinct from E'tidemark/body/v1\n'::bytea then
        if substr(leaf, 1, 20) is distinct from E'tidemark/dataset/v1\n'::bytea then
            return log_leaf_formed(leaf);
        end if;
        return octet_length(leaf) <= 8192 and coalesce(encode(leaf, 'escape') ~ ('^tidemark/dataset/v1\n'
            || replace('date [0-9]{4}-[0-9]{2}-[0-9]{2}\nas_of @\nsha256 [0-9a-f]{64}\nfiles [0-9]+\nat @\n',
                '@', '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z') || '$'), false);
    end if;
    -- After the line of the source each line but that of the length has one length.
    ends := position('\x0a'::bytea in substr(leaf, 25));
    rest := substr(leaf, 24 + ends);
    at := substr(rest, 82, 27);
    return octet_length(leaf) <= 8192 and substr(leaf, 18, 7) = 'source '::bytea and ends > 1
        and substr(rest, 1, 5) = E'\nurl '::bytea and ltrim(substr(rest, 6, 64), '0123456789abcdef'::bytea) = ''::bytea
        and substr(rest, 70, 12) = E'\nfetched_at '::bytea and encode(at, 'escape') like '____-__-__T__:__:__.______Z'
        and ltrim(substr(at, 1, 4) || substr(at, 6, 2) || substr(at, 9, 2) || substr(at, 12, 2) || substr(at, 15, 2) || substr(at, 18, 2)
            || substr(at, 21, 6), '0123456789'::bytea) = ''::bytea
        and substr(rest, 109, 8) = E'\nsha256 '::bytea and ltrim(substr(rest, 117, 64), '0123456789abcdef'::bytea) = ''::bytea
        and substr(rest, 181, 7) = E'\nbytes '::bytea and substr(rest, 188, 1) between '0'::bytea and '9'::bytea
        and ltrim(substr(rest, 188), '0123456789'::bytea) in (E'\nnot_modified true\n'::bytea, E'\nnot_modified false\n'::bytea);
end
$$;
-- +goose StatementEnd
drop function log_leaf_listed(bytea);

-- +goose Down
-- log_leaf_listed is log_leaf_known of 0064, and log_leaf_known that of 0068.
-- +goose StatementBegin
create function log_leaf_listed(leaf bytea) returns boolean language plpgsql immutable as $$
declare
    lines text[];
begin
    if substr(leaf, 1, 17) is distinct from '\x746964656d61726b2f626f64792f76310a'::bytea then -- tidemark/body/v1 and a line feed
        return log_leaf_formed(leaf);
    end if;
    lines := string_to_array(encode(leaf, 'escape'), E'\n');
    return octet_length(leaf) <= 8192 and cardinality(lines) = 8 and lines[8] = ''
        and lines[2] ^@ 'source ' and length(lines[2]) > 7
        and lines[3] ^@ 'url ' and length(lines[3]) = 68 and translate(substr(lines[3], 5), '0123456789abcdef', '') = ''
        and translate(lines[4], '123456789', '000000000') = 'fetched_at 0000-00-00T00:00:00.000000Z'
        and lines[5] ^@ 'sha256 ' and length(lines[5]) = 71 and translate(substr(lines[5], 8), '0123456789abcdef', '') = ''
        and lines[6] ^@ 'bytes ' and length(lines[6]) > 6 and translate(substr(lines[6], 7), '0123456789', '') = ''
        and lines[7] in ('not_modified true', 'not_modified false');
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function log_leaf_known(leaf bytea) returns boolean language plpgsql immutable as $$
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
