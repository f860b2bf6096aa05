//! Files that a write puts in their places and that several of its items name.
//!
//! There is no object in the new place before the write, so that a copy for another place is made
//! from where the object is: as if the items were written one after the other.

use super::{Naming, Taking, names};
use crate::files::names::Spot;
use crate::files::{FileRecord, Owner, Placement, Taken};
use crate::planner::Planner;

impl<'a> Planner<'a> {
    /// What this write takes over under that name: best, what is in the right place for the item.
    pub(super) fn taking_of(&self, naming: &Naming<'_, 'a>, name: &str) -> Option<usize> {
        let is_meant = |taking: &Taking| {
            let Placement { from, to, what, .. } = &taking.placement;
            let is_known = *what == Taken::Upload || taking.owners.contains(naming.owner);
            to == name || (is_known && from == name)
        };
        let taken = self.files.taken.iter().enumerate();
        let meant: Vec<_> = taken.filter(|(_, taking)| is_meant(taking)).collect();
        let mut right = meant.iter().filter(|(_, one)| self.is_right(naming, one));
        let found = right.next().or(meant.first());
        found.map(|(at, _)| *at)
    }

    /// Whether a file will be where the item has it.
    fn is_right(&self, naming: &Naming<'_, 'a>, taking: &Taking) -> bool {
        let to = &taking.placement.to;
        match naming.spot {
            Spot::At(attribute) => {
                let computed = self.computed_name(naming, attribute);
                computed.is_ok_and(|name| name == *to)
            }
            Spot::In(wanted) => {
                let design = &self.context.blueprint.design;
                let prefix = names::prefix(design, wanted).map(|(_, prefix)| prefix);
                let path = prefix.and_then(|prefix| names::path(prefix, naming.item).ok());
                let rest = path.and_then(|path| to.strip_prefix(path.as_str()));
                wanted == taking.prefix && rest.is_some_and(names::is_plain)
            }
        }
    }

    /// Gives an item a file that this write takes over, or a copy of it. Without the design lending
    /// it, it is one file for all that name it, in one place.
    pub(super) fn take_together(
        &mut self,
        naming: &Naming<'_, 'a>,
        place: &str,
        (at, name): (usize, &mut String),
        is_lent: bool,
    ) -> Result<(), String> {
        let Some(taking) = self.files.taken.get(at) else {
            return Ok(());
        };
        let Placement { from, to, what, .. } = taking.placement.clone();
        if self.is_right(naming, taking) {
            self.share_taking(at, naming.owner);
            *name = to;
            return Ok(());
        }
        // An upload is the caller's own, so it is enough that the design reads the name somewhere.
        let is_theirs = what == Taken::Upload
            || taking.owners.contains(naming.owner)
            || self.is_lent(&to, &|_, owner| taking.owners.contains(owner));
        if !is_lent || !is_theirs {
            return Err(format!(
                "is taken over as `{to}` by the same write, and cannot be a file elsewhere too"
            ));
        }
        let source = taking.source.clone();
        let placed = taking.as_placed();
        let (prefix, to) = self.file_destination(naming, &placed)?;
        name.clone_from(&to);
        if to == placed.name {
            self.share_taking(at, naming.owner);
            return Ok(());
        }
        if self.own_file(&to, naming.owner).is_some() {
            self.files.shared.push((naming.owner.clone(), to));
            return Ok(());
        }
        let placement = Placement {
            entity: Some(naming.entity.name.clone()),
            attribute: place.to_owned(),
            bucket: source.bucket.clone(),
            from,
            to,
            what: match what {
                Taken::Upload | Taken::File => Taken::File,
                Taken::Unknown => Taken::Unknown,
            },
        };
        self.add_taking(Taking {
            placement,
            source,
            prefix,
            owners: vec![naming.owner.clone()],
        })
    }

    /// Adds what is to be taken over. One place has one file.
    pub(super) fn add_taking(&mut self, new: Taking) -> Result<(), String> {
        let mut taken = self.files.taken.iter_mut();
        match taken.find(|one| one.placement.to == new.placement.to) {
            None => self.files.taken.push(new),
            Some(same) if same.placement.from == new.placement.from => {
                same.owners.extend(new.owners);
            }
            Some(other) => {
                let to = &other.placement.to;
                return Err(format!("cannot be at `{to}`: another file will be there"));
            }
        }
        Ok(())
    }

    fn share_taking(&mut self, at: usize, owner: &Owner) {
        if let Some(taking) = self.files.taken.get_mut(at)
            && !taking.owners.contains(owner)
        {
            taking.owners.push(owner.clone());
        }
    }

    /// Whether an item takes a file of that name over, alone or with others.
    pub(super) fn is_taken_by(&self, name: &str, owner: &Owner) -> bool {
        let mut taken = self.files.taken.iter();
        taken.any(|taking| taking.placement.to == name && taking.owners.contains(owner))
    }

    /// Has a copy take the place of an upload that the item which took it over does not name any
    /// more at the end of the write. So nothing is left of the upload.
    pub(in crate::planner) fn pass_uploads_on(&mut self, is_named: &dyn Fn(&str) -> bool) {
        let (taken, left): (Vec<Taking>, Vec<Taking>) = std::mem::take(&mut self.files.taken)
            .into_iter()
            .partition(|taking| is_named(&taking.placement.to));
        self.files.taken = taken;
        for upload in left
            .iter()
            .filter(|one| one.placement.what == Taken::Upload)
        {
            let mut taken = self.files.taken.iter_mut();
            if let Some(heir) = taken.find(|one| one.placement.from == upload.placement.from) {
                heir.placement.what = Taken::Upload;
            }
        }
    }
}

impl Taking {
    /// The file as it is recorded once it is taken over.
    fn as_placed(&self) -> FileRecord {
        FileRecord {
            name: self.placement.to.clone(),
            prefix: self.prefix.clone(),
            origin: Some(self.source.origin().to_owned()),
            copy_of: Some(self.placement.from.clone()),
            ..self.source.clone()
        }
    }
}
