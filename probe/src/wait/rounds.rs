//! One target, read again until a fact ends the wait.
//!
//! A round: the unit's process and its sockets, one read, and a verdict. Before an answer counts, process and sockets
//! are looked at once more, so that the answer, the socket and the process belong together: the same process held the
//! socket before and after the read, nobody else could have taken the connection, and nobody else holds its far end.

mod places;

use std::{net::SocketAddr, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{
    answer::{Meaning, Reading},
    facts::{Facts, Main, Process, Table, Trouble},
    target::Target,
};
use places::{elsewhere, ends_at_the_unit, is_local, only_the_unit};

/// A wait for one target of one unit.
pub struct Wait<'a, F, R, V> {
    /// As sentences begin: `unit credgate-a`.
    pub unit: String,
    /// What is read.
    pub target: &'a Target,
    /// What the host says.
    pub facts: F,
    /// Reads the target once.
    pub read: R,
    /// Tells a line.
    pub tell: V,
    /// The longest pause between two reads.
    pub interval: Duration,
    /// What the rounds so far have left behind.
    pub memory: Memory,
}

/// Of earlier rounds.
#[derive(Debug, Default)]
pub struct Memory {
    process: Option<Process>,
    /// Whether a fact has ever been had.
    informed: bool,
    /// The last answer that was one.
    answered: Option<String>,
    /// The last line that was told of a read.
    told: Option<String>,
    /// Lines of the socket table's reader that were no sockets, last time.
    remarks: Vec<String>,
    /// A sentence that ends the wait when the next round comes to it too.
    doubt: Option<String>,
    /// What the last whole round found, if the same again needs no other.
    rest: Option<Rest>,
    pause: Duration,
}

/// A state that can go on for long.
#[derive(Debug)]
struct Rest {
    since: Instant,
    main: Main,
    words: String,
    taken: Option<SocketAddr>,
}

/// What the host shows at one moment.
enum View {
    Running { process: Process, unsettled: Option<String>, table: Table },
    Coming(String),
    Gone(String),
    Hidden(Trouble),
}

/// What a round comes to.
enum Verdict {
    /// The unit serves.
    Serves(Process),
    /// The sentence that ends the wait.
    Refused(String),
    /// The state of the unit, and why the answer does not count.
    Again { state: String, why: Option<String> },
}

impl<F, R, V> Wait<'_, F, R, V>
where
    F: Facts,
    R: AsyncFnMut() -> Reading,
    V: FnMut(String),
{
    /// Returns when the unit serves, or with the sentence why it will not.
    pub async fn until_served(mut self) -> Result<(), String> {
        loop {
            if self.is_quiet().await {
                sleep(self.memory.pause).await;
                continue;
            }
            let view = self.look(false, false).await;
            self.note(&view);
            let reading = (self.read)().await;
            match self.judge(view, &reading).await {
                Verdict::Serves(process) => {
                    let (unit, target, words) = (&self.unit, self.target, &reading.words);
                    (self.tell)(format!("{unit} serves; {target} {words} (process {})", process.id));
                    return Ok(());
                }
                Verdict::Refused(sentence) => return Err(sentence),
                Verdict::Again { state, why } => self.again(&state, &reading, why),
            }
            sleep(self.memory.pause).await;
            self.memory.pause = (self.memory.pause * 2).min(self.interval);
        }
    }

    /// Reads once without a look at the sockets, which is what costs: a system with many connections walks through all
    /// of them for it. True when nothing is new; whatever is new takes a whole round, which reads again.
    async fn is_quiet(&mut self) -> bool {
        let Some(rest) = self.memory.rest.take_if(|_| self.memory.pause == self.interval) else { return false };
        if rest.since.elapsed() >= QUIET {
            return false;
        }
        if self.facts.main(false).await.as_ref() != Ok(&rest.main) {
            return false;
        }
        let reading = (self.read)().await;
        let same = reading.words == rest.words && reading.taken == rest.taken;
        self.memory.rest = same.then_some(rest);
        same
    }

    async fn look(&mut self, fresh: bool, connections: bool) -> View {
        match self.facts.main(fresh).await {
            Ok(Main::Runs { process, unsettled }) => match self.facts.sockets(&process, connections).await {
                Ok(table) => View::Running { process, unsettled, table },
                Err(trouble) => View::Hidden(trouble),
            },
            Ok(Main::Coming(word)) => View::Coming(word),
            Ok(Main::Gone(word)) => View::Gone(word),
            Err(trouble) => View::Hidden(trouble),
        }
    }

    /// Tells what is new about the process and its sockets.
    fn note(&mut self, view: &View) {
        let View::Running { process, table, .. } = view else { return };
        let unit = &self.unit;
        self.memory.informed = true;
        let before = self.memory.process.replace(process.clone());
        match before {
            Some(before) if before == *process => {}
            Some(before) => {
                (self.tell)(format!("{unit} restarted: process {} is now {}", before.id, process.id));
                self.memory.pause = SHORTEST_PAUSE.min(self.interval);
            }
            None if *unit != format!("process {}", process.id) => {
                (self.tell)(format!("{unit} is process {}", process.id));
            }
            None => {}
        }
        for line in table.remarks.iter().filter(|line| !self.memory.remarks.contains(line)) {
            (self.tell)(format!("socket table of {unit}: {line}"));
        }
        self.memory.remarks.clone_from(&table.remarks);
    }

    /// Tells an answer when it differs from the one before, and makes the pauses short again.
    fn again(&mut self, state: &str, reading: &Reading, why: Option<String>) {
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        let line = format!("{state}; {} {}; reading it again{why}", self.target, reading.words);
        if reading.meaning != Meaning::Silence {
            self.memory.answered = Some(reading.words.clone());
        }
        if self.memory.told.as_ref() != Some(&line) {
            (self.tell)(line.clone());
            self.memory.told = Some(line);
            self.memory.pause = SHORTEST_PAUSE.min(self.interval);
        }
    }

    async fn judge(&mut self, view: View, reading: &Reading) -> Verdict {
        let unit = self.unit.clone();
        match view {
            View::Gone(word) => Verdict::Refused(self.gone(&word, reading)),
            View::Coming(word) => {
                self.memory.informed = true;
                self.settled(Verdict::Again { state: format!("{unit} has no process yet ({word})"), why: None })
            }
            View::Hidden(trouble) => self.hidden(&trouble),
            View::Running { process, unsettled, table } => {
                let state = format!("{unit} runs");
                if let Some(elsewhere) =
                    elsewhere(&table, reading).map(|place| format!("{unit} listens {place} of {}", self.target))
                {
                    let why = Some(format!("process {} does not listen there yet", process.id));
                    let sentence =
                        format!("{elsewhere}, which {}; the address or the service's port is wrong", reading.words);
                    return self.doubtful(
                        format!("{}: {elsewhere}", process.id),
                        sentence,
                        Verdict::Again { state, why },
                    );
                }
                let main = Main::Runs { process: process.clone(), unsettled: unsettled.clone() };
                let verdict = match self.counts(&process, unsettled, &table, reading).await {
                    Err(why) => {
                        self.rests(main, reading);
                        Verdict::Again { state, why }
                    }
                    Ok(()) if reading.meaning == Meaning::Serving => Verdict::Serves(process),
                    Ok(()) => Verdict::Refused(format!(
                        "{} {} while {unit} runs; the service refuses the request, so the wait does not go on",
                        self.target, reading.words
                    )),
                };
                self.settled(verdict)
            }
        }
    }

    /// Whether the answer ends the wait; if not, why not, unless the answer itself says it.
    async fn counts(
        &mut self,
        process: &Process,
        unsettled: Option<String>,
        table: &Table,
        reading: &Reading,
    ) -> Result<(), Option<String>> {
        let address = reading.taken.or(reading.addresses.first().copied());
        let Some(address) = address else { return Err(None) };
        if !is_local(address) {
            return Err(Some(format!("{} is no address of this host", address.ip())));
        }
        only_the_unit(process, table, address, reading)?;
        if !matches!(reading.meaning, Meaning::Serving | Meaning::Refusal) {
            return Err(unsettled);
        }
        let changed = || Some("the unit changed meanwhile".to_owned());
        let View::Running { process: now, unsettled, table } = self.look(true, true).await else {
            return Err(changed());
        };
        if now != *process {
            return Err(changed());
        }
        only_the_unit(process, &table, address, reading)?;
        ends_at_the_unit(process, &table, address, reading)?;
        match unsettled.filter(|_| reading.meaning == Meaning::Serving) {
            Some(word) => Err(Some(word)),
            None => Ok(()),
        }
    }

    /// An answer that would count is looked into each time: what stands in its way need not be the unit's doing.
    fn rests(&mut self, main: Main, reading: &Reading) {
        if matches!(reading.meaning, Meaning::NotYet | Meaning::Silence) {
            let (words, taken) = (reading.words.clone(), reading.taken);
            self.memory.rest = Some(Rest { since: Instant::now(), main, words, taken });
        }
    }

    fn gone(&self, word: &str, reading: &Reading) -> String {
        let (unit, target) = (&self.unit, self.target);
        let longer = if self.memory.process.is_some() { "no longer" } else { "not" };
        let port = reading.taken.map(|address| address.port());
        let last = match &self.memory.answered {
            Some(answered) if reading.taken.is_none() => answered,
            _ => &reading.words,
        };
        let taken = port.map_or(String::new(), |port| {
            format!(
                ", from another program listening on port {port}: the unit's own log says why it exited, \
                 and the port that its configuration gives it is taken"
            )
        });
        format!("{unit} is {longer} running ({word}); {target} last {last}{taken}")
    }

    fn hidden(&mut self, trouble: &Trouble) -> Verdict {
        let unit = self.unit.clone();
        let sentence = format!("{unit}: {trouble}");
        let again = Verdict::Again { state: sentence.clone(), why: None };
        match trouble {
            Trouble::Refused(_) => self.doubtful(sentence.clone(), sentence, again),
            Trouble::Failed(_) if !self.memory.informed => Verdict::Refused(sentence),
            Trouble::Failed(_) => self.settled(again),
        }
    }

    /// A process that is just starting can pass through such a state: only when the next round finds the same does it
    /// end the wait.
    fn doubtful(&mut self, doubt: String, sentence: String, again: Verdict) -> Verdict {
        if self.memory.doubt.as_ref() == Some(&doubt) {
            return Verdict::Refused(sentence);
        }
        self.memory.doubt = Some(doubt);
        again
    }

    fn settled(&mut self, verdict: Verdict) -> Verdict {
        self.memory.doubt = None;
        verdict
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// How long the sockets are not looked at while nothing else changes. The unit that begins to listen elsewhere is found
/// out that much later.
const QUIET: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
