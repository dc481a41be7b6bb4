//! The table: medians over the rounds. A ratio is the median of the rounds' own ratios to the floor of the same round, so
//! that a machine that grows slower or faster meanwhile does not move it.

use crate::{
    measure::{FEW, Load, MANY, Measured},
    rounds::Round,
    subject::Kind,
};

pub fn print(rounds: &[Round]) {
    println!("Medians of {} rounds.\n", rounds.len());
    println!(
        "| subject | calls under way | lookups/s | to floor | p50 | p99 | CPU µs | to floor | database µs | load µs | MB |"
    );
    println!("|{}", "---|".repeat(11));
    let kinds = || Kind::ALL.into_iter().filter(|kind| rounds.iter().any(|round| round.contains_key(kind)));
    kinds().for_each(|kind| saturated(rounds, kind));
    for (kind, base) in
        [(Kind::Sqlite, Kind::Csv), (Kind::Postgres, Kind::PostgresBare), (Kind::Mariadb, Kind::MariadbBare)]
    {
        let [of_kind, of_base] = [kind, base].map(|kind| better(rounds, kind).1);
        let rate = |load: fn(&Measured) -> Load| move |of: &Measured| Some(load(of).rate);
        let ratio = ratio(rounds, (kind, base), rate(of_kind), rate(of_base));
        if !ratio.is_empty() {
            println!("\nRate of {} to {}: {ratio}", kind.name(), base.name());
        }
    }
    println!("\nAt half its own rate, in an open loop:\n");
    println!(
        "| subject | lookups/s | p50 | to floor | p99 | to floor | begun late (p99) | p99 of a typical 0.1 s | to floor | CPU µs |"
    );
    println!("|{}", "---|".repeat(10));
    kinds().filter(|kind| !kind.is_bare()).for_each(|kind| half(rounds, kind));
}

fn saturated(rounds: &[Round], kind: Kind) {
    let (calls, load) = better(rounds, kind);
    let (_, floor) = better(rounds, Kind::Floor);
    let figure = |figure: fn(&Load) -> f64| median(rounds, kind, |of| Some(figure(&load(of)))).unwrap_or_default();
    let ratio = |figure: fn(&Load) -> f64| {
        ratio(rounds, (kind, Kind::Floor), |of| Some(figure(&load(of))), |of| Some(figure(&floor(of))))
    };
    let (server, client) = (figure(|load| load.server), figure(|load| load.load));
    let database = figure(|load| load.database);
    println!(
        "| {} | {calls} | {:.0} | {} | {} | {} | {server:.1} | {} | {} | {} | {} |",
        kind.name(),
        figure(|load| load.rate),
        ratio(|load| load.rate),
        time(figure(|load| load.p50)),
        time(figure(|load| load.p99)),
        ratio(|load| load.server),
        if database > 0.0 { format!("{database:.1}") } else { String::new() },
        if kind.is_bare() { String::new() } else { format!("{client:.1}") },
        median(rounds, kind, |of| of.memory.map(|bytes| bytes as f64 / 1e6))
            .map_or(String::new(), |memory| format!("{memory:.0}")),
    );
    if client > server && !kind.is_bare() {
        println!("|   the load costs more than the server here: it is the bottleneck |{}", " |".repeat(10));
    }
}

fn half(rounds: &[Round], kind: Kind) {
    let of = |figure: fn(&Load) -> f64| move |measured: &Measured| measured.half.as_ref().map(figure);
    let figure = |figure: fn(&Load) -> f64| median(rounds, kind, of(figure)).unwrap_or_default();
    let ratio = |figure: fn(&Load) -> f64| ratio(rounds, (kind, Kind::Floor), of(figure), of(figure));
    println!(
        "| {} | {:.0} | {} | {} | {} | {} | {} | {} | {} | {:.1} |",
        kind.name(),
        figure(|load| load.rate),
        time(figure(|load| load.p50)),
        ratio(|load| load.p50),
        time(figure(|load| load.p99)),
        ratio(|load| load.p99),
        time(figure(|load| load.late)),
        time(figure(|load| load.typical)),
        ratio(|load| load.typical),
        figure(|load| load.server),
    );
}

/// The better of 8 and 64 calls under way, by the medians of their rates.
fn better(rounds: &[Round], kind: Kind) -> (usize, fn(&Measured) -> Load) {
    let few = median(rounds, kind, |measured| Some(measured.few.rate));
    let many = median(rounds, kind, |measured| Some(measured.many.rate));
    if many > few { (MANY, |measured| measured.many) } else { (FEW, |measured| measured.few) }
}

fn median(rounds: &[Round], kind: Kind, figure: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
    middle(rounds.iter().filter_map(|round| figure(round.get(&kind)?)))
}

/// Of one kind to another; nothing where no round has both.
fn ratio(
    rounds: &[Round],
    (kind, base): (Kind, Kind),
    figure: impl Fn(&Measured) -> Option<f64>,
    of_base: impl Fn(&Measured) -> Option<f64>,
) -> String {
    let ratios = rounds.iter().filter_map(|round| Some(figure(round.get(&kind)?)? / of_base(round.get(&base)?)?));
    middle(ratios).map_or(String::new(), |ratio| format!("{ratio:.2}"))
}

fn middle(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    let (below, above) = (figures.len().checked_sub(1)? / 2, figures.len() / 2);
    Some(f64::midpoint(figures[below], figures[above]))
}

/// `123 µs`, `1.2 ms`
pub fn time(micros: f64) -> String {
    if micros < 1000.0 { format!("{micros:.0} µs") } else { format!("{:.1} ms", micros / 1000.0) }
}
