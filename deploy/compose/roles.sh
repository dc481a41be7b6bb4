#!/bin/bash
# Run once by the postgres image on an empty volume: the role that owns the tables, and the one that may only read.
set -euo pipefail
psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname credgate \
    --set owner="$(cat "${SECRETS:-/run/secrets}/owner_password")" \
    --set reader="$(cat "${SECRETS:-/run/secrets}/reader_password")" <<'SQL'
CREATE ROLE credgate_owner LOGIN PASSWORD :'owner';
CREATE ROLE credgate_reader LOGIN PASSWORD :'reader';
GRANT CREATE ON DATABASE credgate TO credgate_owner;
GRANT CREATE, USAGE ON SCHEMA public TO credgate_owner;
GRANT CONNECT ON DATABASE credgate TO credgate_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE credgate_owner IN SCHEMA public GRANT SELECT ON TABLES TO credgate_reader;
SQL
