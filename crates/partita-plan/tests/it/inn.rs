//! An inn: guests are in rooms, go with them, and have a copy of their titles. Nothing counts them.

use partita_plan::Operation;

use crate::stage::texts;

/// Guests are found from their room by the key of the table.
pub(crate) const DESIGN: &str = r#"
design = "inn"

[table]
name = "inn"
key  = ["PK", "SK"]

[entity.Room]
PK = "ROOM#{roomId}"
SK = "METADATA"

[entity.Room.attributes]
roomId = "string"
title  = "string"

[entity.Room.allow]
"*" = "signed-in"

[entity.Guest]
PK = "ROOM#{roomId}"
SK = "GUEST#{guestId}"

[entity.Guest.attributes]
roomId  = "string"
guestId = "string"
title   = "copy room.title"

[entity.Guest.refs]
room = "Room, on delete cascade"

[entity.Guest.allow]
"*" = "signed-in"

[pattern.guests]
query = "PK = 'ROOM#{roomId}' AND begins_with(SK, 'GUEST#')"
"#;

/// The same, where they are found by an index.
pub(crate) fn by_index() -> String {
    let changes = [
        (
            "[entity.Room]",
            "[index]\nrooms = [\"GPK\", \"GSK\"]\n\n[entity.Room]",
        ),
        (
            "PK = \"ROOM#{roomId}\"\nSK = \"GUEST#{guestId}\"",
            "PK  = \"GUEST#{guestId}\"\nSK  = \"METADATA\"\nGPK = \"ROOM#{roomId}\"\nGSK = \"GUEST#{guestId}\"",
        ),
        (
            "PK = 'ROOM#{roomId}' AND begins_with(SK,",
            "GPK = 'ROOM#{roomId}' AND begins_with(GSK,",
        ),
    ];
    let mut design = DESIGN.to_owned();
    for (old, new) in changes {
        assert_eq!(design.matches(old).count(), 1, "{old}");
        design = design.replace(old, new);
    }
    design
}

/// The room is let.
pub(crate) fn room() -> Operation {
    Operation::Create {
        entity: "Room".into(),
        attributes: texts(&[("roomId", "r"), ("title", "blue")]),
    }
}

/// A guest comes.
pub(crate) fn guest(id: &str) -> Operation {
    Operation::Create {
        entity: "Guest".into(),
        attributes: texts(&[("roomId", "r"), ("guestId", id)]),
    }
}

/// The room is removed.
pub(crate) fn removal() -> Operation {
    Operation::Delete {
        entity: "Room".into(),
        identity: vec!["r".into()],
        version: None,
    }
}

/// The room gets another title.
pub(crate) fn renaming() -> Operation {
    Operation::Update {
        entity: "Room".into(),
        identity: vec!["r".into()],
        changes: texts(&[("title", "red")]),
        with_deleted: false,
        version: None,
    }
}
