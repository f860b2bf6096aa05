//! What the rules refuse whatever the body says, asked before anything is said of the body.

use partita_plan::{Caller, Partita};

use crate::decode::{self, BodyContent, Brought};
use crate::problem::Problem;
use crate::routes::{Found, Verb};

/// Why a request is not carried out.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The rules do not allow it.
    Ruled(Problem),
    /// It cannot be understood.
    Malformed(Problem),
}

impl Refusal {
    pub(crate) fn into_problem(self) -> Problem {
        match self {
            Refusal::Ruled(problem) | Refusal::Malformed(problem) => problem,
        }
    }
}

/// Refuses what the rules do not allow the caller, as far as the route and `head`, which is
/// everything but the body, decide; and gives the head back. Where no rule lets anybody pass
/// without a token, a head of such a caller is not looked at.
pub(crate) fn admit<'h>(
    partita: &Partita,
    caller: &Caller,
    verb: Verb,
    found: &Found<'_>,
    head: Result<Brought<'h>, Problem>,
) -> Result<Brought<'h>, Refusal> {
    let design = partita.design();
    let known = partita.demand_token(caller, verb);
    known.map_err(|refusal| Refusal::Ruled(Problem::from(refusal).about(design, verb)))?;
    let malformed = |problem: Problem| Refusal::Malformed(problem.about(design, verb));
    let head = Brought {
        content: BodyContent::Awaited,
        ..head.map_err(malformed)?
    };
    if verb.is_read() {
        return Ok(head);
    }
    let operation = decode::operation(design, verb, found, &head).map_err(malformed)?;
    match partita.admit(caller, operation) {
        Ok(()) => Ok(head),
        Err(refusal) => {
            let problem = Problem::of_refusal(refusal, design, verb, &head.conditions);
            Err(Refusal::Ruled(problem))
        }
    }
}
