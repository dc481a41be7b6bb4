//! The servers do what the tests believe they do.

use super::*;

fn lives(kind: Kind) {
    let database = Database::start(kind);
    database.sql("CREATE TABLE t (a int)");
    database.sql("INSERT INTO t VALUES (7)");
    database.restart();
    assert_eq!(database.sql("SELECT a FROM t"), "7\n");
    database.kill();
    database.start_again();
    assert_eq!((database.connections(), database.statements()), (0, 0));
    database.freeze();
    database.thaw();
    assert_eq!(database.sql("SELECT 1"), "1\n");
    assert_eq!(database.end_connections(), 0);
}

#[test]
fn postgres() {
    lives(Kind::Postgres);
}

#[test]
fn mariadb() {
    lives(Kind::MariaDb);
}
