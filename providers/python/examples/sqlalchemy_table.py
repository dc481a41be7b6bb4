"""Nodes from any database that SQLAlchemy 2 knows, installed in a venv of the plugin's own.

    [provider.python]
    module = "sqlalchemy_table.py"
    venv = "/opt/credgate/venv"
    secret_files = { url = "database.url" }      # postgresql+psycopg://..., mysql+pymysql://..., sqlite:///...
    config = { query = "SELECT node_id, password, enabled FROM nodes WHERE node_id = :node_id" }
    workers = 8

Every wait has an end: for a connection of the pool, for the server to accept one, and for a statement.
"""

import credgate
import sqlalchemy
from sqlalchemy import exc

SECONDS = 1.5

# What each database calls the end of a wait.
BOUNDS = {
    "postgresql": {"connect_timeout": 2, "options": "-c statement_timeout=1500"},
    "mysql": {"connect_timeout": 2, "read_timeout": 2, "write_timeout": 2},
    "sqlite": {"timeout": SECONDS},
}


class Table:
    def __init__(self, url, query):
        self.query = sqlalchemy.text(query)
        self.engine = sqlalchemy.create_engine(
            url,
            pool_timeout=SECONDS,
            pool_pre_ping=True,
            hide_parameters=True,
            poolclass=sqlalchemy.pool.QueuePool,
            connect_args=BOUNDS[url.get_backend_name()],
        )

    def rows(self, query, **parameters):
        try:
            with self.engine.connect() as connection:
                return connection.execute(query, parameters).all()
        except (exc.OperationalError, exc.InterfaceError, exc.TimeoutError) as error:
            # SQLAlchemy's own exceptions are no OSError: said in the gateway's words.
            raise credgate.Unavailable from error

    def lookup(self, node_id):
        rows = self.rows(self.query, node_id=node_id)
        if len(rows) > 1:
            raise credgate.Corrupt
        if not rows:
            return None
        row = rows[0]._mapping
        return credgate.Credential(row["password"], node_id=row["node_id"], enabled=row["enabled"])

    def check(self):
        self.rows(self.query, node_id="")

    def close(self):
        self.engine.dispose()


def create(config):
    return Table(sqlalchemy.make_url(config.secrets["url"]), config["query"])
