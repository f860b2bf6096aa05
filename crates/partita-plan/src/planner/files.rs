//! Files that items name: each stands where the layout of its bucket says, is of a kind that is
//! taken there, and belongs to one item.
//!
//! Where objects are kept (see [`crate::files`]), an item is given the name of an upload. The plan
//! makes of it the name that the object will have, and the transaction hands the object over.
//! Where nobody keeps objects only names are looked at: that nobody names one of another place,
//! or one outside of all.

use std::rc::Rc;

use partita_core::Map;
use partita_core::expression::{Found, Scope as _};
use partita_design::design::{Attribute, Entity, Prefix};
use partita_design::template::dotted;
use partita_store::request::{DeleteItem, PutItem, TransactAction};

use super::{Planner, Step};
use crate::draft::{Before, Refusal};
use crate::error::{Fault, FaultRule, PlanError};
use crate::files::names::{self, File, NAME_BYTES_MAX, Spot};
use crate::files::{self, MARGIN_MILLIS, Owner, Placement, Record, is_owned_by};
use crate::nested;
use crate::reads::Known;
use crate::scene::{Seen, Trace};
use crate::shape::{Shape, identity_of};

/// What a write does to files.
#[derive(Default)]
pub(crate) struct FileChanges {
    /// Whether uploads can be taken over. A job cannot: nobody copies objects for it.
    pub(crate) takes_uploads: bool,
    /// Uploads that are to be taken over, and what is known of them.
    taken: Vec<(Placement, Record)>,
    /// Those whose handing over is in the transaction.
    placements: Vec<Placement>,
    /// Buckets and names of objects that are not needed any more.
    released: Vec<(String, String)>,
}

impl FileChanges {
    /// What is to be copied before the write, and removed behind it.
    pub(crate) fn into_parts(self) -> (Vec<Placement>, Vec<(String, String)>) {
        (self.placements, self.released)
    }
}

impl<'a> Planner<'a> {
    /// Gives the uploads that an item names the names that they will have.
    pub(super) fn take_uploads(&mut self, entity: &'a Entity, item: &mut Map) -> Seen<'a> {
        let trace = Trace::default();
        if self.files.takes_uploads {
            let attributes = entity.attributes.iter();
            for attribute in attributes.filter(|one| names::names_files(one)) {
                self.take_from(entity, attribute, item, &trace);
            }
        }
        trace.into_seen()
    }

    /// The same for an item that changes.
    pub(super) fn take_uploads_at(
        &mut self,
        at: usize,
        entity: &'a Entity,
    ) -> Result<(), PlanError> {
        let Some(after) = self.entry(at).after.clone() else {
            return Ok(());
        };
        if !self.files.takes_uploads || !names::has_files(entity) {
            return Ok(());
        }
        let mut item = Map::clone(&after);
        let seen = self.take_uploads(entity, &mut item);
        self.entry_mut(at).after = Some(Rc::new(item));
        self.remember(Some(at), seen)
    }

    fn take_from(
        &mut self,
        entity: &'a Entity,
        attribute: &'a Attribute,
        item: &mut Map,
        trace: &Trace<'a>,
    ) {
        let Some(mut value) = nested::get(item, &attribute.name).cloned() else {
            return;
        };
        names::each(attribute, &mut value, &mut |place, spot, name| {
            if self.is_taken(name) {
                return;
            }
            // One upload may be named twice in an item; it is one file all the same.
            let mut taken = self.files.taken.iter();
            if let Some((placement, _)) = taken.find(|(taken, _)| taken.from == *name) {
                name.clone_from(&placement.to);
                return;
            }
            let Some(upload) = self.upload(spot, name) else {
                return;
            };
            match self.destination(entity, spot, item, &upload, trace) {
                Ok(to) => {
                    let placement = Placement {
                        attribute: place,
                        bucket: upload.bucket.clone(),
                        from: std::mem::replace(name, to.clone()),
                        to,
                    };
                    self.files.taken.push((placement, upload));
                }
                Err(message) => {
                    let name = &entity.name;
                    self.faults
                        .push(Fault::of(name, place, FaultRule::File, message));
                }
            }
        });
        nested::set(item, &attribute.name, value);
    }

    /// The caller's own upload of that name, while there is time to take it over.
    fn upload(&self, spot: Spot<'_>, name: &str) -> Option<Record> {
        let design = &self.context.blueprint.design;
        let buckets = design.buckets.iter().filter(|bucket| match spot {
            Spot::In(wanted) => bucket.prefixes.iter().any(|prefix| prefix.name == wanted),
            Spot::At(_) => true,
        });
        let mut uploads = buckets
            .filter(|bucket| name.starts_with(names::staging(bucket)) && names::is_plain(name))
            .filter_map(|bucket| self.known_file(&bucket.name, name));
        uploads.find(|upload| {
            let last = self.moment.now_millis.saturating_add(MARGIN_MILLIS);
            let is_for = match spot {
                Spot::In(wanted) => upload.prefix == wanted,
                Spot::At(_) => true,
            };
            is_for
                && upload.owner.is_none()
                && !upload.is_removing
                && upload.caller == self.context.caller.id
                && upload.due_millis.is_some_and(|due| due > last)
        })
    }

    fn known_file(&self, bucket: &str, name: &str) -> Option<Record> {
        let address = files::address(self.context.blueprint, bucket, name);
        match self.context.item(&address) {
            Known::Found(item) => Record::read(item),
            Known::Missing | Known::Unread => None,
        }
    }

    /// The name that an upload will have.
    fn destination(
        &self,
        entity: &'a Entity,
        spot: Spot<'a>,
        item: &Map,
        upload: &Record,
        trace: &Trace<'a>,
    ) -> Result<String, String> {
        let design = &self.context.blueprint.design;
        let found = names::prefix(design, &upload.prefix);
        let (_, prefix) = found.ok_or("is for a prefix that the design does not have any more")?;
        let path = names::path(prefix, item)?;
        let name = match spot {
            Spot::In(_) => {
                let last = upload.name.rsplit('/').next().unwrap_or_default();
                format!("{path}{last}")
            }
            Spot::At(name) => {
                let scene = self.scene(Shape::Entity(entity), item, None, trace);
                match scene.find(&dotted(name)) {
                    Found::Value(value) => value.as_str().map(str::to_owned),
                    Found::Missing | Found::Unknown => None,
                }
                .ok_or_else(|| format!("has no place while `{name}` has no value"))?
            }
        };
        let rest = name.strip_prefix(path.as_str());
        let rest = rest
            .ok_or_else(|| format!("was uploaded to `{}`, and belongs to `{name}`", prefix.name))?;
        if !names::is_plain(rest) || name.len() > NAME_BYTES_MAX {
            return Err(format!("cannot be at `{name}`"));
        }
        // The copy of an earlier attempt with the same upload is as good as this one.
        let other = self.known_file(&upload.bucket, &name);
        let is_free = other.is_none_or(|other| {
            other.name == upload.name || other.copy_of.as_ref() == Some(&upload.name)
        });
        match is_free {
            true => Ok(name),
            false => Err(format!("cannot be replaced: there is a file `{name}`")),
        }
    }

    /// Finds every file of an item that is not where it belongs. What was there before and has
    /// not changed is left alone.
    pub(super) fn check_files(&mut self, entity: &Entity, old: Option<&Map>, item: &Map) {
        if !names::has_files(entity) {
            return;
        }
        let design = &self.context.blueprint.design;
        let had = old.map(|old| names::all(entity, old)).unwrap_or_default();
        for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
            let Some(value) = nested::get(item, &attribute.name) else {
                continue;
            };
            for file in names::of_attribute(attribute, value) {
                // Other addresses are welcome where a file is only `at` something.
                let Spot::In(wanted) = file.spot else {
                    continue;
                };
                let Some((_, prefix)) = names::prefix(design, wanted) else {
                    continue;
                };
                if let Err(message) = self.check_file(prefix, &file, &attribute.name, old, item) {
                    let fault = Fault::of(&entity.name, file.place, FaultRule::File, message);
                    self.faults.push(fault);
                } else if self.is_strange(&file, &had) {
                    let message = format!(
                        "is no upload of yours to `{wanted}`; ask for one with POST /files/{wanted}"
                    );
                    let fault = Fault::of(&entity.name, file.place, FaultRule::File, message);
                    self.faults.push(fault);
                }
            }
        }
    }

    fn check_file(
        &self,
        prefix: &Prefix,
        file: &File<'_>,
        attribute: &str,
        old: Option<&Map>,
        item: &Map,
    ) -> Result<(), String> {
        let is_same =
            |name: &str| old.is_some_and(|old| nested::get(old, name) == nested::get(item, name));
        if is_same(attribute) && prefix.path.names().all(|name| is_same(&name)) {
            return Ok(());
        }
        if self.is_taken(&file.name) {
            return Ok(());
        }
        // An upload that is not the caller's, or too old, is told of as such.
        match names::check(prefix, item, &file.name) {
            Err(_) if self.is_staged(&file.name) && self.context.blueprint.keeps_files => Ok(()),
            checked => checked,
        }
    }

    /// Whether objects are kept, and this is neither an upload that was taken over nor a file
    /// that the item had before.
    fn is_strange(&self, file: &File<'_>, had: &[File<'_>]) -> bool {
        let is_known = self.is_taken(&file.name) || had.iter().any(|had| had.name == file.name);
        self.context.blueprint.keeps_files && !is_known
    }

    fn is_taken(&self, name: &str) -> bool {
        let mut taken = self.files.taken.iter();
        taken.any(|(placement, _)| placement.to == name)
    }

    fn is_staged(&self, name: &str) -> bool {
        let mut buckets = self.context.blueprint.design.buckets.iter();
        buckets.any(|bucket| name.starts_with(names::staging(bucket)))
    }

    /// The actions that hand the files of an item over: from uploads to the item, from where it
    /// was to where it is, and from the item to the sweeper.
    pub(super) fn file_steps(&mut self, at: usize) -> Result<Vec<Step>, PlanError> {
        let entry = self.entry(at);
        let Shape::Entity(entity) = entry.shape else {
            return Ok(Vec::new());
        };
        let is_unseen = matches!(entry.before, Before::Unread) && entry.after.is_none();
        if !self.context.blueprint.keeps_files || is_unseen || !names::has_files(entity) {
            return Ok(Vec::new());
        }
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let is_moved = entry.destination().is_some();
        let files = |item: &Option<Rc<Map>>| {
            let files = item.as_ref().map(|item| names::all(entity, item));
            files.unwrap_or_default()
        };
        let (had, has) = (files(&old), files(&new));
        let owner = |item: &Map| Owner {
            entity: entity.name.clone(),
            identity: identity_of(Shape::Entity(entity), item).unwrap_or_default(),
        };
        let mut steps = Vec::new();
        if let Some(new) = &new {
            // What two items of one write name belongs to the first of them.
            let taken = std::mem::take(&mut self.files.taken);
            let (here, elsewhere) = taken
                .into_iter()
                .partition(|(taken, _)| is_among(&taken.to, &has));
            self.files.taken = elsewhere;
            let here: Vec<(Placement, Record)> = here;
            for (placement, upload) in here {
                steps.extend(self.take_over(&placement, &upload, owner(new)));
                self.files.placements.push(placement);
            }
        }
        let Some(old) = old else {
            return Ok(steps);
        };
        for file in had {
            let stays = is_among(&file.name, &has);
            if stays && !is_moved {
                continue;
            }
            let Some(record) = self.own_file(&file.name, &owner(&old)) else {
                continue;
            };
            match (stays, &new) {
                (true, Some(new)) => steps.push(self.hand_on(record, &owner(&old), owner(new))),
                _ if self.is_remembered(entity, &file) && new.is_some() => {}
                _ => steps.extend(self.let_go(record, &owner(&old))),
            }
        }
        Ok(steps)
    }

    /// The record of a file, if this item is its owner.
    fn own_file(&self, name: &str, owner: &Owner) -> Option<Record> {
        let buckets = self.context.blueprint.design.buckets.iter();
        let mut records = buckets.filter_map(|bucket| self.known_file(&bucket.name, name));
        records.find(|record| record.owner.as_ref() == Some(owner))
    }

    /// Whether states of the item that are kept name the file after the item has ceased to.
    fn is_remembered(&self, entity: &Entity, file: &File<'_>) -> bool {
        let mut views = self.context.blueprint.design.views_of(&entity.name);
        let root = file.place.split(['.', '[']).next().unwrap_or_default();
        views.any(|view| view.history && view.keep.iter().any(|kept| kept == root))
    }

    fn take_over(&self, placement: &Placement, upload: &Record, owner: Owner) -> Vec<Step> {
        let table = &self.context.blueprint.sidecar;
        let condition = Some(files::is_open(upload.caller.as_deref()));
        let design = &self.context.blueprint.design;
        let prefix = names::prefix(design, &upload.prefix);
        let lifetime = prefix.and_then(|(_, prefix)| prefix.lifetime_seconds);
        if placement.stays() {
            let file = Record {
                owner: Some(owner),
                ..upload.clone()
            };
            return vec![put(PutItem {
                condition,
                ..PutItem::new(table.clone(), file.item())
            })];
        }
        let taken = DeleteItem {
            table: table.clone(),
            key: files::key_of(&upload.bucket, &upload.name),
            condition,
            return_item_on_failure: false,
        };
        let due_millis = lifetime.map(|seconds| {
            let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
            self.moment.now_millis.saturating_add(millis)
        });
        let file = Record {
            name: placement.to.clone(),
            owner: Some(owner),
            due_millis,
            ..upload.clone()
        };
        let mut steps = vec![
            Step {
                action: TransactAction::Delete(taken),
                refusal: Refusal::Stale,
            },
            put(PutItem {
                condition: Some(files::is_copy_of(&upload.name)),
                ..PutItem::new(table.clone(), file.item())
            }),
        ];
        if let Some(due) = due_millis {
            let row = files::due_row(&file.bucket, &file.name, due);
            steps.push(put(PutItem::new(table.clone(), row)));
        }
        steps
    }

    fn hand_on(&self, record: Record, old: &Owner, new: Owner) -> Step {
        let file = Record {
            owner: Some(new),
            ..record
        };
        put(PutItem {
            condition: Some(is_owned_by(old)),
            ..PutItem::new(self.context.blueprint.sidecar.clone(), file.item())
        })
    }

    /// Nobody owns the object any more, and it is to be removed at once.
    fn let_go(&mut self, record: Record, owner: &Owner) -> [Step; 2] {
        let table = &self.context.blueprint.sidecar;
        let now = self.moment.now_millis;
        let row = files::due_row(&record.bucket, &record.name, now);
        let released = (record.bucket.clone(), record.name.clone());
        let file = Record {
            owner: None,
            // Whoever uploaded it cannot name it again.
            caller: None,
            is_removing: true,
            due_millis: Some(now),
            ..record
        };
        let steps = [
            put(PutItem {
                condition: Some(is_owned_by(owner)),
                ..PutItem::new(table.clone(), file.item())
            }),
            put(PutItem::new(table.clone(), row)),
        ];
        self.files.released.push(released);
        steps
    }
}

fn is_among(name: &str, files: &[File<'_>]) -> bool {
    files.iter().any(|file| file.name == name)
}

fn put(put: PutItem) -> Step {
    Step {
        action: TransactAction::Put(put),
        refusal: Refusal::Stale,
    }
}
