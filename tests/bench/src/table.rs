//! The table: medians over the rounds, and ratios to the floor of the same run.

use crate::{
    measure::{Load, Round},
    subject::{Kind, Subject},
};

/// The rounds of one subject.
#[derive(Default)]
pub struct Row(Vec<Round>);

impl Row {
    pub fn add(&mut self, round: Round) {
        self.0.push(round);
    }

    /// The better of 8 and 64 calls under way, by the medians of their rates.
    fn saturated(&self) -> (usize, Load) {
        let [few, many] = [(8, self.median(|round| round.few)), (64, self.median(|round| round.many))];
        if many.1.rate > few.1.rate { many } else { few }
    }

    /// The median of each figure by itself.
    fn median(&self, of: impl Fn(&Round) -> Load) -> Load {
        let loads: Vec<Load> = self.0.iter().map(of).collect();
        let each = |figure: fn(&Load) -> f64| {
            let mut figures: Vec<f64> = loads.iter().map(figure).collect();
            figures.sort_unstable_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Load {
            rate: each(|load| load.rate),
            p50: each(|load| load.p50),
            p99: each(|load| load.p99),
            server: each(|load| load.server),
            database: each(|load| load.database),
            load: each(|load| load.load),
        }
    }
}

pub fn print(subjects: &[Subject], rows: &[Row]) {
    println!(
        "| subject | calls under way | lookups/s | to floor | p50 | p99 | CPU µs | to floor | database µs | load µs \
         | half load: p50 | p99 | p99 to floor | CPU µs | MB |"
    );
    println!("|{}", "---|".repeat(15));
    let floor = subjects.iter().position(|subject| subject.kind == Kind::Floor).map(|index| &rows[index]);
    for (subject, row) in subjects.iter().zip(rows) {
        let (outstanding, full) = row.saturated();
        let half = row.median(|round| round.half);
        let ratio = |figure: fn(&Load) -> f64| {
            floor.map_or("".to_owned(), |floor| format!("{:.2}", figure(&full) / figure(&floor.saturated().1)))
        };
        let tail =
            floor.map_or("".to_owned(), |floor| format!("{:.2}", half.p99 / floor.median(|round| round.half).p99));
        let memory = row
            .0
            .last()
            .and_then(|round| round.memory)
            .map_or("".to_owned(), |bytes| format!("{:.0}", bytes as f64 / 1e6));
        println!(
            "| {} | {outstanding} | {:.0} | {} | {} | {} | {:.1} | {} | {:.1} | {:.1} | {} | {} | {tail} | {:.1} | {memory} |",
            subject.kind.name(),
            full.rate,
            ratio(|load| load.rate),
            time(full.p50),
            time(full.p99),
            full.server,
            ratio(|load| load.server),
            full.database,
            full.load,
            time(half.p50),
            time(half.p99),
            half.server,
        );
        if full.load > full.server && subject.caller().is_some() {
            println!("|   the load costs more than the server here: it is the bottleneck |{}", " |".repeat(14));
        }
    }
}

fn time(micros: f64) -> String {
    if micros < 1000.0 { format!("{micros:.0} µs") } else { format!("{:.1} ms", micros / 1000.0) }
}
