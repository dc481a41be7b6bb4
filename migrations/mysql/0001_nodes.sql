-- credgate's own schema, version 1, for MySQL and MariaDB.
-- Every statement may be run again: whoever applies this file by hand (credgate migrate --print) can still migrate later.

-- One row: the version of the schema, and the oldest reader that still understands it.
CREATE TABLE IF NOT EXISTS credgate_schema (
    id         TINYINT NOT NULL PRIMARY KEY CHECK (id = 1),
    version    BIGINT  NOT NULL,
    min_reader BIGINT  NOT NULL
) ENGINE = InnoDB;

-- node_id is text, compared byte for byte: 0200 and 200 are two nodes. A password that could never be handed out is
-- refused here already, 1 to 255 characters of printable ASCII and not only spaces; a disabled node may have none.
-- (MySQL before 8.0.16 reads the CHECKs and does not enforce them; a lookup does.)
CREATE TABLE IF NOT EXISTS credgate_nodes (
    node_id  VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY CHECK (node_id <> ''),
    password VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    enabled  BOOLEAN NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    CHECK (
        (enabled = 0 AND password IS NULL)
        OR (password IS NOT NULL AND CHAR_LENGTH(password) BETWEEN 1 AND 255
            AND TRIM(password) <> '' AND password NOT REGEXP '[^ -~]')
    )
) ENGINE = InnoDB;

INSERT INTO credgate_schema (id, version, min_reader) VALUES (1, 1, 1)
    ON DUPLICATE KEY UPDATE min_reader = IF(version < 1, 1, min_reader), version = IF(version < 1, 1, version);
