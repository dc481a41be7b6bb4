//! What the suite found, check by check, and how it is shown.

use std::fmt;

/// Everything that was found about one provider.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The subject's name.
    pub subject: String,
    /// One for each check, in the suite's order.
    pub findings: Vec<Finding>,
}

/// How one check ended.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The check, as the sentence that must hold.
    pub check: &'static str,
    /// How it ended.
    pub ending: Ending,
}

/// The four ways a check ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The sentence holds.
    Passed,
    /// The provider refused to start on rows that would have broken it: as good.
    Refused,
    /// It says nothing about this provider, for this reason.
    NotApplicable(String),
    /// It does not hold, and what was seen instead.
    Failed(String),
}

impl Verdict {
    /// The checks that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        self.checks(|ending| matches!(ending, Ending::Failed(_)))
    }

    /// The checks that were not applicable.
    pub fn not_applicable(&self) -> Vec<&'static str> {
        self.checks(|ending| matches!(ending, Ending::NotApplicable(_)))
    }

    fn checks(&self, wanted: impl Fn(&Ending) -> bool) -> Vec<&'static str> {
        self.findings.iter().filter(|finding| wanted(&finding.ending)).map(|finding| finding.check).collect()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, failed, without) = (self.findings.len(), self.failed().len(), self.not_applicable().len());
        let passed = all - failed - without;
        writeln!(f, "{}: {passed} passed, {failed} failed, {without} not applicable", self.subject)?;
        for Finding { check, ending } in &self.findings {
            let (word, detail) = match ending {
                Ending::Passed => ("passed", ""),
                Ending::Refused => ("passed", "refused at start"),
                Ending::NotApplicable(reason) => ("-", reason.as_str()),
                Ending::Failed(seen) => ("FAILED", seen.as_str()),
            };
            let separator = if detail.is_empty() { "" } else { ": " };
            writeln!(f, "  {word:<7} {check}{separator}{detail}")?;
        }
        Ok(())
    }
}
