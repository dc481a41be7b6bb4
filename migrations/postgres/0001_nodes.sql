-- credgate's own schema, version 1.
-- Every statement may be run again: whoever applies this file by hand (credgate migrate --print) can still migrate later.

-- One row: the version of the schema, and the oldest reader that still understands it.
CREATE TABLE IF NOT EXISTS credgate_schema (
    id         smallint NOT NULL PRIMARY KEY CHECK (id = 1),
    version    bigint   NOT NULL,
    min_reader bigint   NOT NULL
);

-- node_id is text, compared byte for byte: 0200 and 200 are two nodes. A password that could never be handed out is
-- refused here already, 1 to 255 characters of printable ASCII and not only spaces; a disabled node may have none.
CREATE TABLE IF NOT EXISTS credgate_nodes (
    node_id  text    COLLATE "C" NOT NULL PRIMARY KEY CHECK (node_id <> ''),
    password text    COLLATE "C",
    enabled  boolean NOT NULL DEFAULT true,
    CHECK (
        (NOT enabled AND password IS NULL)
        OR (password IS NOT NULL AND length(password) BETWEEN 1 AND 255
            AND btrim(password) <> '' AND password !~ '[^ -~]')
    )
);

INSERT INTO credgate_schema (id, version, min_reader) VALUES (1, 1, 1)
    ON CONFLICT (id) DO UPDATE SET version = 1, min_reader = 1 WHERE credgate_schema.version < 1;
