//! Provider: credentials from one CSV file, read whole and judged at start.
//!
//! The file is the table: its bytes stay in memory as they were read, and an index of record offsets finds a node in
//! them. So a million nodes cost the size of their file and 8 bytes each, and nothing is copied that would have to be
//! wiped. A lookup reads one record again, by the same rules that judged it at start.
//!
//! ```text
//! [provider.csv] ─ settings ─▶ Dialect ┐
//!                                      ├─▶ Table::parse ─▶ Table ─▶ lookup
//! nodes.csv ───── credgate_files::read ┘    │ header: which column is what
//!                                           │ record: where a value begins and ends
//!                                           └ index:  where a node's record begins
//! ```
//!
//! Every fault of a file is told with its line and none of its values. Later changes of the file need a restart: the
//! loaded table keeps serving, whatever becomes of the file.
//!
//! Reading order: [`CsvKind`], [`Dialect`], [`Table`].

mod header;
mod index;
mod kind;
mod load;
mod record;
mod rows;
mod settings;
mod table;
mod walk;

pub use kind::CsvKind;
pub use load::read;
pub use settings::Dialect;
pub use table::{Node, Rules, Table};
