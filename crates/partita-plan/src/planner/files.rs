//! Files that items name: each stands where the layout of its bucket says, and is of a kind that
//! is taken there.
//!
//! Where objects are kept (see [`crate::files`]), a caller gives an item the name of an upload, and
//! an effect, an action or a computed value can give it the name of another item's file. The plan
//! makes of it the name that the object will have, and the transaction hands the object over
//! (`planner::owners`). Where nobody keeps objects only names are looked at: that nobody names one
//! of another place, or one outside of all.

mod together;

use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use partita_core::Map;
use partita_core::expression::{Found, Scope as _};
use partita_design::design::{self, Attribute, Prefix, Source};
use partita_design::media_type;
use partita_design::nested;
use partita_design::template::dotted;
use sha2::{Digest as _, Sha256};

use super::Planner;
use super::assignments::lends;
use super::owners::Past;
use crate::draft::EntryId;
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::{Known, ReadSet};
use crate::files::names::{self, File, NAME_BYTES_MAX, Spot, no_place};
use crate::files::{self, FileRecord, MARGIN_MILLIS, Owner, Placement, Taken};

/// Names that are tried for the copy of a file before it is given up for now.
const NAMES_TRIED: usize = 4;

/// What a write does to files.
#[derive(Default)]
pub(crate) struct FileChanges {
    /// Whether uploads can be taken over. A job takes none: the write that left it has.
    pub(crate) takes_uploads: bool,
    /// What is to be taken over.
    pub(super) taken: Vec<Taking>,
    /// Files that items name together with others: who, and the name.
    pub(super) shared: Vec<(Owner, String)>,
    /// The states of items that are written, moved or removed.
    pub(super) pasts: Vec<Past>,
    /// What is taken over in the transaction.
    pub(super) placements: Vec<Placement>,
    /// Buckets and names of objects that are not needed any more.
    pub(super) released: Vec<(String, String)>,
}

/// An object that an item takes over.
pub(super) struct Taking {
    pub(super) placement: Placement,
    /// What is known of what it is taken from.
    pub(super) source: FileRecord,
    /// The prefix that it will be in.
    pub(super) prefix: String,
    /// The items that may name it there.
    owners: Vec<Owner>,
}

/// The name of a file in an item, and whose it is.
struct Naming<'n, 'a> {
    entity: &'a design::Record,
    owner: &'n Owner,
    item: &'n Map,
    spot: Spot<'a>,
    reads: &'n ReadSet<'a>,
}

impl FileChanges {
    /// What is to be copied before the write, and removed behind it.
    pub(crate) fn into_parts(self) -> (Vec<Placement>, Vec<(String, String)>) {
        (self.placements, self.released)
    }
}

impl<'a> Planner<'a> {
    /// Gives the files that an item takes over the names that they will have: uploads of the
    /// caller, and files of other items where the value was lent by them.
    pub(crate) fn take_files(
        &mut self,
        entity: &'a design::Record,
        old: Option<&Map>,
        item: &mut Map,
        lent: &[&str],
        reads: &ReadSet<'a>,
    ) {
        let attributes = entity.attributes.iter();
        for attribute in attributes.filter(|one| names::names_files(one)) {
            let is_lent = lent.contains(&attribute.name.as_str())
                || self.is_computed_of_files(entity, attribute, item);
            self.take_from(entity, attribute, (old, item), is_lent, reads);
        }
    }

    /// Whether the value of an attribute is computed from the files of other items.
    fn is_computed_of_files(
        &self,
        entity: &'a design::Record,
        attribute: &Attribute,
        item: &Map,
    ) -> bool {
        let Source::Computed(computed) = &attribute.source else {
            return false;
        };
        lends(&self.unguarded(entity, item), &computed.value, None)
    }

    /// The same for an item that changes.
    pub(super) fn take_files_at(
        &mut self,
        at: EntryId,
        entity: &'a design::Record,
        lent: &[&str],
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (old, Some(after)) = (entry.old().cloned(), entry.after.clone()) else {
            return Ok(());
        };
        if !names::has_files(entity) {
            return Ok(());
        }
        let mut item = Map::clone(&after);
        self.watch(Some(at), |planner, reads| {
            planner.take_files(entity, old.as_deref(), &mut item, lent, reads);
            planner.entry_mut(at).after = Some(Rc::new(item));
        })
    }

    fn take_from(
        &mut self,
        entity: &'a design::Record,
        attribute: &'a Attribute,
        (old, item): (Option<&Map>, &mut Map),
        is_lent: bool,
        reads: &ReadSet<'a>,
    ) {
        let Some(mut value) = nested::get(item, &attribute.name).cloned() else {
            return;
        };
        let owner = self.owner(entity, item);
        let had = old.map(|old| names::all(entity, old)).unwrap_or_default();
        names::each(attribute, &mut value, &mut |place, spot, name| {
            if is_among(name, &had) {
                return;
            }
            let naming = Naming {
                entity,
                owner: &owner,
                item,
                spot,
                reads,
            };
            let taken = if self.context.blueprint.keeps_files {
                self.take_one(&naming, &place, name, is_lent)
            } else if is_lent {
                self.rename(&naming, name)
            } else {
                Ok(())
            };
            if let Err(message) = taken {
                let fault = Fault::of(&entity.name, place, FaultRule::File, message);
                self.faults.push(fault);
            }
        });
        nested::set(item, &attribute.name, value);
    }

    /// Takes a file over under the name that it will have, if it is there for that.
    fn take_one(
        &mut self,
        naming: &Naming<'_, 'a>,
        place: &str,
        name: &mut String,
        is_lent: bool,
    ) -> Result<(), String> {
        if let Some(at) = self.taking_of(naming, name) {
            return self.take_together(naming, place, (at, name), is_lent);
        }
        let upload = self.upload(naming.spot, name);
        let (source, what) = match upload {
            Some(upload) => (upload, Taken::Upload),
            None if is_lent => match self.lent_file(naming.spot, name) {
                Some(lent) => lent,
                None => return Ok(()),
            },
            None => return Ok(()),
        };
        if what == Taken::Upload && !source.received {
            return Err("has not been uploaded yet: send its bytes to the URL first".to_owned());
        }
        let (prefix, to) = match what {
            Taken::Upload => self.upload_destination(naming, &source)?,
            Taken::File | Taken::Unknown => self.file_destination(naming, &source)?,
        };
        let from = std::mem::replace(name, to.clone());
        let is_there =
            what != Taken::Upload && (from == to || self.own_file(&to, naming.owner).is_some());
        if is_there {
            self.files.shared.push((naming.owner.clone(), to));
            return Ok(());
        }
        let placement = Placement {
            entity: Some(naming.entity.name.clone()),
            attribute: place.to_owned(),
            bucket: source.bucket.clone(),
            from,
            to,
            what,
        };
        self.add_taking(Taking {
            placement,
            source,
            prefix,
            owners: vec![naming.owner.clone()],
        })
    }

    /// Where nobody keeps objects, gives a name that another item lends the form that it has in
    /// its new place: whoever keeps the objects moves them there.
    fn rename(&self, naming: &Naming<'_, 'a>, name: &mut String) -> Result<(), String> {
        let design = &self.context.blueprint.design;
        match naming.spot {
            Spot::At(attribute) => *name = self.computed_name(naming, attribute)?,
            Spot::In(wanted) => {
                if let Some((_, prefix)) = names::prefix(design, wanted) {
                    let path = names::path(prefix, naming.item)?;
                    if !name.starts_with(path.as_str()) {
                        *name = format!("{path}{}", last_step(name));
                    }
                }
            }
        }
        Ok(())
    }

    /// The caller's own upload of that name, while there is time to take it over.
    fn upload(&self, spot: Spot<'_>, name: &str) -> Option<FileRecord> {
        if !self.files.takes_uploads {
            return None;
        }
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
                && !upload.is_owned()
                && !upload.is_removing
                && upload.caller == self.context.caller.id
                && upload.due_millis.is_some_and(|due| due > last)
        })
    }

    /// The file of that name, if an item that this write has read or changed names and owns it; or,
    /// where nothing is known of such a file, if one names it.
    fn lent_file(&self, spot: Spot<'_>, name: &str) -> Option<(FileRecord, Taken)> {
        let design = &self.context.blueprint.design;
        let buckets = design.buckets.iter();
        let records = buckets.filter_map(|bucket| self.known_file(&bucket.name, name));
        let records: Vec<FileRecord> = records.collect();
        if let Some(record) = records
            .iter()
            .find(|one| one.is_owned() && !one.is_removing)
        {
            let is_lent = self.is_lent(name, &|_, owner| self.is_owner(record, owner))
                || self.is_read_from_owner(record);
            return is_lent.then(|| (record.clone(), Taken::File));
        }
        // A caller can write any text where a file is `at` something.
        let is_in = |file: &File<'_>, _: &Owner| matches!(file.spot, Spot::In(_));
        if !records.is_empty() || !self.is_lent(name, &is_in) {
            return None;
        }
        let bucket = match spot {
            Spot::In(wanted) => names::prefix(design, wanted)?.0,
            Spot::At(_) => design.buckets.first()?,
        };
        let unknown = FileRecord {
            media_type: media_type::of_name(name)
                .unwrap_or("application/octet-stream")
                .to_owned(),
            ..FileRecord::at(&bucket.name, name)
        };
        Some((unknown, Taken::Unknown))
    }

    /// Whether an item of the draft names a file, by what it says of it and who it is.
    fn is_lent(&self, name: &str, is_meant: &dyn Fn(&File<'_>, &Owner) -> bool) -> bool {
        self.draft.entries.iter().any(|entry| {
            let entity = self.context.blueprint.design.source(entry.record);
            if !names::has_files(entity) {
                return false;
            }
            if entry.is_unread() {
                self.context.reads.need(entry.address.clone());
                return false;
            }
            let mut items = entry.old().into_iter().chain(&entry.after);
            items.any(|item| {
                let owner = self.owner(entity, item);
                let files = names::all(entity, item);
                let mut files = files.iter().filter(|file| file.name == name);
                files.any(|file| is_meant(file, &owner))
            })
        })
    }

    /// Whether the first owner of a file was read and names it. What never changes is not guarded,
    /// so it may not be in the draft.
    fn is_read_from_owner(&self, record: &FileRecord) -> bool {
        let blueprint = self.context.blueprint;
        let Some(owner) = &record.owner else {
            return false;
        };
        let Ok(entity) = blueprint.entity(&owner.entity) else {
            return false;
        };
        let record = entity;
        let Ok(address) = blueprint.address(record, &owner.identity) else {
            return false;
        };
        match self.context.peek(&address) {
            Known::Found(item) => {
                let item = blueprint.attributes(record, item);
                item.is_ok_and(|item| is_among(&record.name, &names::all(entity, &item)))
            }
            Known::Missing | Known::Unread => false,
        }
    }

    pub(super) fn known_file(&self, bucket: &str, name: &str) -> Option<FileRecord> {
        let address = files::address(self.context.blueprint, bucket, name);
        match self.context.item(&address) {
            Known::Found(item) => FileRecord::read(item),
            Known::Missing | Known::Unread => None,
        }
    }

    /// Whether an item is an owner of a file.
    pub(super) fn is_owner(&self, record: &FileRecord, owner: &Owner) -> bool {
        if record.owner.as_ref() == Some(owner) {
            return true;
        }
        let blueprint = self.context.blueprint;
        let row = files::owner_address(blueprint, &record.bucket, &record.name, owner);
        record.others > 0 && matches!(self.context.item(&row), Known::Found(_))
    }

    /// The record of a file, if this item is one of its owners.
    pub(super) fn own_file(&self, name: &str, owner: &Owner) -> Option<FileRecord> {
        let buckets = self.context.blueprint.design.buckets.iter();
        let mut records = buckets.filter_map(|bucket| self.known_file(&bucket.name, name));
        records.find(|record| !record.is_removing && self.is_owner(record, owner))
    }

    /// An item as an owner of files.
    pub(super) fn owner(&self, entity: &design::Record, item: &Map) -> Owner {
        Owner {
            entity: entity.name.clone(),
            identity: entity.identity_of(item).unwrap_or_default(),
        }
    }

    /// The prefix and the name that an upload will have.
    fn upload_destination(
        &self,
        naming: &Naming<'_, 'a>,
        upload: &FileRecord,
    ) -> Result<(String, String), String> {
        let design = &self.context.blueprint.design;
        let found = names::prefix(design, &upload.prefix);
        let (_, prefix) = found.ok_or("is for a prefix that the design does not have any more")?;
        let path = names::path(prefix, naming.item)?;
        let name = match naming.spot {
            Spot::In(_) => format!("{path}{}", last_step(&upload.name)),
            Spot::At(name) => self.computed_name(naming, name)?,
        };
        let is_inside = name.strip_prefix(path.as_str());
        let rest = is_inside
            .ok_or_else(|| format!("was uploaded to `{}`, and belongs to `{name}`", prefix.name))?;
        check_plain(&name, rest)?;
        match self.known_file(&upload.bucket, &name) {
            // The copy of an earlier attempt with the same upload is as good as this one.
            Some(other)
                if other.name != upload.name && other.copy_of.as_ref() != Some(&upload.name) =>
            {
                Err(if self.is_owner(&other, naming.owner) {
                    format!("cannot be replaced: there is a file `{name}`")
                } else {
                    no_place(&name)
                })
            }
            _ => Ok((prefix.name.clone(), name)),
        }
    }

    /// The prefix and the name that the file of another item will have for this one: its own, where
    /// the place is right, or that of a copy.
    fn file_destination(
        &self,
        naming: &Naming<'_, 'a>,
        source: &FileRecord,
    ) -> Result<(String, String), String> {
        let design = &self.context.blueprint.design;
        let computed = match naming.spot {
            Spot::In(_) => None,
            Spot::At(name) => Some(self.computed_name(naming, name)?),
        };
        let (bucket, prefix) = match (naming.spot, &computed) {
            (Spot::In(wanted), _) => names::prefix(design, wanted),
            (_, Some(name)) => names::prefix_of(design, naming.item, name),
            (Spot::At(_), None) => None,
        }
        .ok_or("is not in a place of any bucket")?;
        fits(prefix, source)?;
        if bucket.name != source.bucket {
            let message = format!("is in the bucket `{}`, and cannot be copied", source.bucket);
            return Err(message);
        }
        let path = names::path(prefix, naming.item)?;
        let is_right = match &computed {
            Some(name) => *name == source.name,
            None => {
                let rest = source.name.strip_prefix(path.as_str());
                rest.is_some_and(names::is_plain)
            }
        };
        if is_right {
            return Ok((prefix.name.clone(), source.name.clone()));
        }
        let to = match computed {
            Some(name) => vec![name],
            None => copy_names(&path, source, naming.owner),
        };
        let mut to = to.into_iter().filter(|name| name.len() <= NAME_BYTES_MAX);
        let free = to.find(|name| self.is_place_for(&source.bucket, name, source, naming.owner));
        match free {
            Some(name) => Ok((prefix.name.clone(), name)),
            None => Err("cannot be copied to its place".to_owned()),
        }
    }

    /// Whether a file can be copied to a place for an item, or has been.
    fn is_place_for(&self, bucket: &str, name: &str, source: &FileRecord, owner: &Owner) -> bool {
        let Some(other) = self.known_file(bucket, name) else {
            return true;
        };
        let is_theirs = other.origin() == source.origin() && self.is_owner(&other, owner);
        // What is placed by this write is copied from where it is before.
        let from = source.copy_of.as_ref().unwrap_or(&source.name);
        !other.is_removing && (is_theirs || other.copy_of.as_ref() == Some(from))
    }

    /// The name that another attribute computes for a file.
    fn computed_name(&self, naming: &Naming<'_, 'a>, attribute: &str) -> Result<String, String> {
        let scope = self.scope(naming.entity, naming.item, naming.reads);
        let found = match scope.find(&dotted(attribute)) {
            Found::Value(value) => value.as_str().map(str::to_owned),
            Found::Missing | Found::Unknown => None,
        };
        let name = found.ok_or_else(|| format!("has no place while `{attribute}` has no value"))?;
        Ok(name)
    }

    /// Finds every file of an item that is not where it belongs. What was there before and has
    /// not changed is left alone.
    pub(super) fn check_files(&mut self, entity: &design::Record, old: Option<&Map>, item: &Map) {
        if !names::has_files(entity) {
            return;
        }
        let design = &self.context.blueprint.design;
        let had = old.map(|old| names::all(entity, old)).unwrap_or_default();
        let owner = self.owner(entity, item);
        for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
            let Some(value) = nested::get(item, &attribute.name) else {
                continue;
            };
            for file in names::of_attribute(attribute, value) {
                if self.is_faulty(&file.place) || self.is_taken_by(&file.name, &owner) {
                    continue;
                }
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
                } else if self.is_strange(&file, &had, &owner, old.is_none()) {
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
        // An upload that is not the caller's, or too old, is told of as such.
        match names::check(prefix, item, &file.name) {
            Err(_) if self.is_staged(&file.name) && self.context.blueprint.keeps_files => Ok(()),
            checked => checked,
        }
    }

    /// Whether objects are kept, and this is neither given to the item nor a file that the item or its
    /// history had before. A new item had none, also where one of its identity has expired.
    fn is_strange(&self, file: &File<'_>, had: &[File<'_>], owner: &Owner, is_new: bool) -> bool {
        let is_shared = |(by, name): &(Owner, String)| by == owner && *name == file.name;
        let is_known = is_among(&file.name, had) || self.files.shared.iter().any(is_shared);
        self.context.blueprint.keeps_files
            && !is_known
            && (is_new || self.own_file(&file.name, owner).is_none())
    }

    fn is_staged(&self, name: &str) -> bool {
        let mut buckets = self.context.blueprint.design.buckets.iter();
        buckets.any(|bucket| name.starts_with(names::staging(bucket)))
    }
}

/// The last step of the name of an object.
fn last_step(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// The names that the copy of a file can have for an item: that of the file, and others that no
/// other item comes to.
fn copy_names(path: &str, source: &FileRecord, owner: &Owner) -> Vec<String> {
    let last = last_step(&source.name);
    let ending = last.rsplit_once('.').map_or("", |(_, ending)| ending);
    let others = (1..NAMES_TRIED).map(|number| {
        let text = format!("{}#{}#{number}", source.origin(), owner.spelled());
        let digest = Sha256::digest(text.as_bytes());
        format!("{path}{}.{ending}", BASE64.encode(&digest[..16]))
    });
    std::iter::once(format!("{path}{last}"))
        .chain(others)
        .collect()
}

/// What a prefix takes of files, it takes of those that were uploaded to another one too.
fn fits(prefix: &Prefix, source: &FileRecord) -> Result<(), String> {
    if !media_type::is_accepted(&prefix.accepts, &source.media_type) {
        let accepted = prefix.accepts.join(" or ");
        return Err(format!("must be of the type {accepted}"));
    }
    match (prefix.largest_bytes, source.bytes) {
        (Some(largest), Some(bytes)) if bytes > largest => {
            Err(format!("must be at most {largest} bytes"))
        }
        _ => Ok(()),
    }
}

fn check_plain(name: &str, rest: &str) -> Result<(), String> {
    if names::is_plain(rest) && name.len() <= NAME_BYTES_MAX {
        Ok(())
    } else {
        Err(format!("cannot be at `{name}`"))
    }
}

pub(super) fn is_among(name: &str, files: &[File<'_>]) -> bool {
    files.iter().any(|file| file.name == name)
}
