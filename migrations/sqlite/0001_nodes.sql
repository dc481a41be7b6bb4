-- credgate's own schema, version 1.
-- Every statement may be run again: whoever applies this file by hand (credgate migrate --print) can still migrate later.

-- One row: the version of the schema, and the oldest reader that still understands it.
CREATE TABLE IF NOT EXISTS credgate_schema (
    id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version    INTEGER NOT NULL,
    min_reader INTEGER NOT NULL
);

-- node_id is text: 0200 and 200 are two nodes. A password that could never be handed out is refused here already,
-- 1 to 255 characters of printable ASCII and not only spaces; a disabled node may have none.
-- No STRICT: tools older than SQLite 3.37 could then not read the file at all; the CHECKs say the same.
CREATE TABLE IF NOT EXISTS credgate_nodes (
    node_id  TEXT    NOT NULL COLLATE BINARY PRIMARY KEY
             CHECK (typeof(node_id) = 'text' AND node_id <> ''),
    password TEXT,
    enabled  INTEGER NOT NULL DEFAULT 1
             CHECK (typeof(enabled) = 'integer' AND enabled IN (0, 1)),
    CHECK (
        (enabled = 0 AND password IS NULL)
        OR (typeof(password) = 'text' AND length(password) BETWEEN 1 AND 255
            AND trim(password) <> '' AND password NOT GLOB '*[^ -~]*')
    )
) WITHOUT ROWID;

INSERT INTO credgate_schema (id, version, min_reader) VALUES (1, 1, 1)
    ON CONFLICT (id) DO UPDATE SET version = 1, min_reader = 1 WHERE version < 1;
