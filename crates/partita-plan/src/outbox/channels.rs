//! The channels of a design, and rows that leave them.

use partita_core::expression::KeyCondition;
use partita_design::design::EffectTarget;
use partita_design::sidecar::OUTBOX;
use partita_store::request::{DeleteItem, PutItem, Query, ReturnValues, TransactAction};

use super::message::Channel;
use crate::commit::Step;
use crate::commit::run::is_passing;
use crate::error::PlanError;
use crate::partita::Partita;
use crate::sidecar;

impl Partita {
    /// The channels on which something may wait: mail, the receivers of the design, those of earlier
    /// designs, and those of which a change of a table was parked.
    pub(crate) async fn channels(&self) -> Result<Vec<Channel>, PlanError> {
        let mut channels = vec![Channel::Mail];
        channels.extend(self.own_receivers());
        let keys = KeyCondition::partition(sidecar::PARTITION, format!("{OUTBOX}CHANNEL"));
        let mut request = Query::new(self.blueprint.sidecar.clone(), keys);
        loop {
            let page = self.runner.query(&request).await?;
            let words = page
                .items
                .iter()
                .filter_map(|row| row.get(sidecar::SORT)?.as_str());
            channels.extend(words.filter_map(Channel::parse));
            match page.last_key {
                None => break,
                last_key => request.start_after = last_key,
            }
        }
        channels.sort();
        channels.dedup();
        Ok(channels)
    }

    /// The receivers that the design sends to.
    fn own_receivers(&self) -> Vec<Channel> {
        let design = self.design();
        let triggers = design.triggers.iter().map(|trigger| &trigger.effect);
        let effects = triggers.chain(design.actions.iter().flat_map(|action| &action.then));
        let receivers = effects.filter_map(|effect| match &effect.target {
            EffectTarget::Receiver { name, .. } => Some(Channel::Receiver(name.clone())),
            _ => None,
        });
        receivers.collect()
    }

    /// Notes the receivers of the design, so that what waits for them is found when another design
    /// follows it.
    pub(crate) async fn note_channels(&self) -> Result<(), PlanError> {
        for channel in self.own_receivers() {
            self.runner.put(&self.note_of(&channel)).await?;
        }
        Ok(())
    }

    /// Notes that something may wait on a channel.
    pub(super) fn note_of(&self, channel: &Channel) -> PutItem {
        let key = sidecar::key(&format!("{OUTBOX}CHANNEL"), &channel.word());
        PutItem::new(self.blueprint.sidecar.clone(), key)
    }

    /// Removes a row of the sidecar.
    pub(crate) async fn remove_row(&self, request: DeleteItem) -> Result<(), PlanError> {
        let runner = &self.runner;
        let delete = || {
            runner
                .store
                .delete_item(request.clone(), ReturnValues::None)
        };
        runner.ask_while(is_passing, delete).await?;
        Ok(())
    }

    /// Moves a message. Says whether it was still there.
    pub(crate) async fn move_row(&self, actions: Vec<TransactAction>) -> Result<bool, PlanError> {
        let steps = actions.into_iter().map(Step::or_stale).collect();
        self.runner.commit_unless_failed(steps).await
    }
}
