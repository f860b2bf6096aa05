//! `POST batch`: decided by every operation that is in it, and refused whole for any of them.

use axum::http::Method;
use partita_api::access::{self, Persona, Row};
use partita_api::routes::Target;
use partita_design::design::Repeat;
use serde_json::{Value as Json, json};

use super::cast::Probe;
use super::contract::Seen;
use super::is_allowed;
use super::theatre::{Call, Theatre, compare};
use crate::scenario::Verb;

/// Something that a caller may do, and something that he may not.
struct Pair {
    may: Probe,
    may_not: Probe,
}

impl Theatre {
    /// As every caller: what he may do, what he may not do, and both in one batch.
    pub(super) async fn play_batch(&mut self, row: &Row<'_>) -> Result<(), String> {
        for persona in Persona::ALL {
            let played = match self.pair(persona) {
                Some(pair) => self.play_pair(row, persona, &pair).await,
                None => self.play_nothing(row, persona).await,
            };
            played.map_err(|failure| format!("{}: {failure}", persona.word()))?;
        }
        Ok(())
    }

    /// What the caller may not do refuses also what he may, wherever it stands.
    async fn play_pair(
        &mut self,
        row: &Row<'_>,
        persona: Persona,
        pair: &Pair,
    ) -> Result<(), String> {
        let names = self.set(&pair.may.before).await?;
        let (good, named) = self.put_call(None, &pair.may, &names)?;
        let mut good = self.operation(&good);
        good["ifNoneMatch"] = "*".into();
        // The same people once more: what is theirs does not belong to those above.
        let others = self.set(&pair.may_not.before).await?;
        let bad = self.canonical(&pair.may_not.verb);
        let bad = self.operation(&self.call(&bad, &pair.may_not, &others)?.0);
        let token = self.token(persona, Some(&named));
        for (operations, at) in [
            (vec![&bad], 0),
            (vec![&good, &bad], 1),
            (vec![&bad, &good], 0),
        ] {
            let seen = self.send_batch(&operations, token.clone()).await;
            self.contract.judge(row.route, &seen)?;
            compare(persona, false, &seen)?;
            let blamed = seen.body["problems"].as_array().map(Vec::as_slice);
            if !matches!(blamed, Some([one]) if one["operation"] == at) {
                return Err(format!("the operation at {at} is to blame: {}", seen.body));
            }
        }
        // Had it been carried out before, it would be refused now.
        let seen = self.send_batch(&[&good], token).await;
        self.contract.judge(row.route, &seen)?;
        compare(persona, true, &seen)
    }

    /// Who may do nothing of all that the cast does gets nothing done by a batch either.
    async fn play_nothing(&mut self, row: &Row<'_>, persona: Persona) -> Result<(), String> {
        let probe = self.creations().next().ok_or("nothing is created")?.clone();
        let names = self.set(&probe.before).await?;
        let (call, _) = self.put_call(None, &probe, &names)?;
        let operation = self.operation(&call);
        let token = self.token(persona, None);
        let seen = self.send_batch(&[&operation, &operation], token).await;
        self.contract.judge(row.route, &seen)?;
        compare(persona, false, &seen)
    }

    /// Sends an operation in a batch of its own, as somebody who may not do it.
    pub(super) async fn refused_in_batch(
        &self,
        call: &Call,
        persona: Persona,
    ) -> Result<(), String> {
        let batch = self
            .routes
            .iter()
            .find(|route| route.target == Target::Batch);
        let batch = batch.ok_or("no route for batches")?;
        let operation = self.operation(call);
        let seen = self
            .send_batch(&[&operation], self.token(persona, None))
            .await;
        self.contract.judge(batch, &seen)?;
        compare(persona, false, &seen).map_err(|failure| format!("in a batch, {failure}"))
    }

    /// Two probes of a cast, of which a caller may do the one and not the other.
    fn pair(&self, persona: Persona) -> Option<Pair> {
        let may = self.creations().find(|probe| self.may(probe, persona))?;
        // What belongs to other people is to an owner what it is to a stranger.
        let refused = match persona {
            Persona::Owner => Persona::Stranger,
            other => other,
        };
        let writes = self.cast.probes.iter();
        let mut writes = writes.filter(|probe| is_write(&probe.verb));
        let may_not = writes.find(|probe| !self.may(probe, refused))?;
        Some(Pair {
            may: may.clone(),
            may_not: may_not.clone(),
        })
    }

    /// The probes that create something once, under an identity that they can choose.
    fn creations(&self) -> impl Iterator<Item = &Probe> {
        let probes = self.cast.probes.iter();
        probes.filter(|probe| match &probe.verb {
            Verb::Create { entity, .. } => {
                let repeat = self.design.find_entity(entity).map(|entity| entity.repeat);
                repeat == Some(Repeat::Refuse) && self.has_own_identity(&probe.verb)
            }
            _ => false,
        })
    }

    /// Whether a caller may do what a probe does.
    fn may(&self, probe: &Probe, persona: Persona) -> bool {
        let route = self.canonical(&probe.verb);
        let row = access::row(&self.design, &route);
        is_allowed(&row, persona, probe) == Ok(true)
    }

    /// A call as an operation of a batch.
    pub(super) fn operation(&self, call: &Call) -> Json {
        let path = call
            .url
            .trim_start_matches(&self.url(""))
            .trim_start_matches('/');
        let mut operation = json!({ "method": call.method.as_str(), "path": path });
        if let Some(body) = &call.body {
            operation["body"] = body.clone();
        }
        operation
    }

    pub(super) async fn send_batch(&self, operations: &[&Json], token: Option<String>) -> Seen {
        let call = Call {
            method: Method::POST,
            url: self.url("batch"),
            body: Some(json!({ "operations": operations })),
        };
        self.send(&call, token).await
    }
}

fn is_write(verb: &Verb) -> bool {
    !matches!(verb, Verb::Get { .. } | Verb::Query { .. })
}
