//! The recipes of `docs/sql.md`, word for word, each on a table of that shape.

use credgate_support::provider::{check, get};

use crate::support::{Kind, Server, for_each_kind};

/// A recipe: its heading in the page, the table, what stands in it.
struct Recipe {
    heading: &'static str,
    postgres: &'static [&'static str],
    mariadb: &'static [&'static str],
    /// Node and answer.
    answers: &'static [(&'static str, &'static str)],
}

const PAGE: &str = include_str!("../../../../docs/sql.md");

const RECIPES: [Recipe; 6] = [
    Recipe {
        heading: "Asterisk PJSIP realtime",
        postgres: &[
            "CREATE TABLE ps_auths (id varchar(255) PRIMARY KEY, auth_type varchar(20), nonce_lifetime int, \
             md5_cred varchar(40), password varchar(80), realm varchar(255), username varchar(80))",
            "INSERT INTO ps_auths VALUES ('2000-auth', 'userpass', NULL, NULL, 'secret', NULL, '2000'), \
             ('2001-auth', 'md5', NULL, 'd41d8cd98f00b204e9800998ecf8427e', NULL, NULL, '2001')",
        ],
        mariadb: &[
            "CREATE TABLE ps_auths (id varchar(255) PRIMARY KEY, auth_type enum('md5','userpass'), nonce_lifetime int, \
             md5_cred varchar(40), password varchar(80), realm varchar(255), username varchar(80))",
            "INSERT INTO ps_auths VALUES ('2000-auth', 'userpass', NULL, NULL, 'secret', NULL, '2000'), \
             ('2001-auth', 'md5', NULL, 'd41d8cd98f00b204e9800998ecf8427e', NULL, NULL, '2001')",
        ],
        answers: &[("2000", "secret"), ("2001", "no such node"), ("9", "no such node")],
    },
    Recipe {
        heading: "Asterisk `sippeers`",
        postgres: &[
            "CREATE TABLE sippeers (id int PRIMARY KEY, name varchar(10) NOT NULL UNIQUE, host varchar(40), \
             secret varchar(40), md5secret varchar(40), type varchar(10))",
            "INSERT INTO sippeers VALUES (1, '2000', 'dynamic', 'secret', NULL, 'friend')",
        ],
        mariadb: &[
            "CREATE TABLE sippeers (id int PRIMARY KEY AUTO_INCREMENT, name varchar(10) NOT NULL UNIQUE, \
             host varchar(40), secret varchar(40), md5secret varchar(40), type enum('friend','user','peer'))",
            "INSERT INTO sippeers VALUES (1, '2000', 'dynamic', 'secret', NULL, 'friend')",
        ],
        answers: &[("2000", "secret"), ("9", "no such node")],
    },
    Recipe {
        heading: "Asterisk `iaxfriends`",
        postgres: &[
            "CREATE TABLE iaxfriends (id int PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, secret varchar(40), \
             type varchar(10))",
            "INSERT INTO iaxfriends VALUES (1, '2000', 'secret', 'friend')",
        ],
        mariadb: &[
            "CREATE TABLE iaxfriends (id int PRIMARY KEY AUTO_INCREMENT, name varchar(40) NOT NULL UNIQUE, \
             secret varchar(40), type enum('friend','user','peer'))",
            "INSERT INTO iaxfriends VALUES (1, '2000', 'secret', 'friend')",
        ],
        answers: &[("2000", "secret"), ("9", "no such node")],
    },
    Recipe {
        heading: "Kamailio and OpenSIPS `subscriber`",
        postgres: &[
            "CREATE TABLE subscriber (id serial PRIMARY KEY, username varchar(64) DEFAULT '' NOT NULL, \
             domain varchar(64) DEFAULT '' NOT NULL, password varchar(64) DEFAULT '' NOT NULL, \
             ha1 varchar(128) DEFAULT '' NOT NULL, UNIQUE (username, domain))",
            "INSERT INTO subscriber (username, domain, password) VALUES ('2000', 'example.net', 'secret'), \
             ('2000', 'other.example', 'wrong'), ('2001', 'example.net', '')",
        ],
        mariadb: &[
            "CREATE TABLE subscriber (id int unsigned AUTO_INCREMENT PRIMARY KEY, username varchar(64) DEFAULT '' NOT NULL, \
             domain varchar(64) DEFAULT '' NOT NULL, password varchar(64) DEFAULT '' NOT NULL, \
             ha1 varchar(128) DEFAULT '' NOT NULL, UNIQUE (username, domain))",
            "INSERT INTO subscriber (username, domain, password) VALUES ('2000', 'example.net', 'secret'), \
             ('2000', 'other.example', 'wrong'), ('2001', 'example.net', '')",
        ],
        answers: &[("2000", "secret"), ("2001", "corrupt record: the password is empty"), ("9", "no such node")],
    },
    Recipe {
        heading: "FreeRADIUS `radcheck`",
        postgres: &[
            "CREATE TABLE radcheck (id serial PRIMARY KEY, UserName text NOT NULL DEFAULT '', \
             Attribute text NOT NULL DEFAULT '', op varchar(2) NOT NULL DEFAULT '==', Value text NOT NULL DEFAULT '')",
            "INSERT INTO radcheck (UserName, Attribute, op, Value) VALUES ('2000', 'Cleartext-Password', ':=', 'secret'), \
             ('2000', 'Simultaneous-Use', ':=', '1'), ('2001', 'Cleartext-Password', ':=', 'off'), \
             ('2001', 'Auth-Type', ':=', 'Reject')",
        ],
        mariadb: &[
            "CREATE TABLE radcheck (id int unsigned AUTO_INCREMENT PRIMARY KEY, username varchar(64) NOT NULL DEFAULT '', \
             attribute varchar(64) NOT NULL DEFAULT '', op char(2) NOT NULL DEFAULT '==', \
             value varchar(253) NOT NULL DEFAULT '', KEY username (username(32)))",
            "INSERT INTO radcheck (username, attribute, op, value) VALUES ('2000', 'Cleartext-Password', ':=', 'secret'), \
             ('2000', 'Simultaneous-Use', ':=', '1'), ('2001', 'Cleartext-Password', ':=', 'off'), \
             ('2001', 'Auth-Type', ':=', 'Reject')",
        ],
        answers: &[("2000", "secret"), ("2001", "no such node"), ("9", "no such node")],
    },
    Recipe {
        heading: "`user_Nodes`",
        postgres: &[
            "CREATE TABLE \"user_Nodes\" (\"Node_ID\" serial PRIMARY KEY, name int NOT NULL UNIQUE, secret varchar(64))",
            "INSERT INTO \"user_Nodes\" (name, secret) VALUES (200, 'secret'), (2000, 'other')",
        ],
        mariadb: &[
            "CREATE TABLE user_Nodes (Node_ID int AUTO_INCREMENT PRIMARY KEY, name int NOT NULL UNIQUE, secret varchar(64))",
            "INSERT INTO user_Nodes (name, secret) VALUES (200, 'secret'), (2000, 'other')",
        ],
        answers: &[
            ("200", "secret"),
            ("0200", "no such node"),
            ("2000", "other"),
            ("9999999999", "no such node"),
            ("9", "no such node"),
        ],
    },
];

/// The query in the block below the heading; `?` stands for the parameter of MySQL there.
fn query(heading: &str, kind: Kind) -> String {
    let section = PAGE.split("\n### ").find(|section| section.starts_with(heading));
    let section = section.unwrap_or_else(|| panic!("docs/sql.md has no recipe {heading}"));
    let parameter = kind.parameter();
    let line = section.lines().find(|line| line.starts_with("    query = ") && line.contains(parameter));
    line.unwrap_or_else(|| panic!("{heading} has no query with {parameter}")).trim().to_owned()
}

async fn every_recipe(kind: Kind) {
    let server = Server::start(kind);
    for recipe in &RECIPES {
        let statements = if kind == Kind::Postgres { recipe.postgres } else { recipe.mariadb };
        statements.iter().for_each(|statement| drop(server.sql(statement)));
        let query = query(recipe.heading, kind);
        let provider = server.try_open(&query).await.unwrap_or_else(|text| panic!("{}: {text}", recipe.heading));
        check(&*provider).await.unwrap();
        for (node, wanted) in recipe.answers {
            assert_eq!(get(&*provider, node).await, *wanted, "{}: {node}", recipe.heading);
        }
        provider.close().await;
    }
}

for_each_kind!(every_recipe);
