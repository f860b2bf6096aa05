use partita_core::key::KeyType;
use partita_store::index::{IndexKind, IndexProjection};
use partita_store::table::{KeyAttribute, KeySchema};

use super::*;

fn attribute(name: &str, kind: KeyType) -> KeyAttribute {
    let name = name.to_owned();
    KeyAttribute { name, kind }
}

fn index(name: &str, kind: IndexKind, projection: IndexProjection) -> IndexSchema {
    IndexSchema {
        name: name.to_owned(),
        kind,
        partition: vec![attribute("P", KeyType::S)],
        sort: vec![attribute("é", KeyType::B)],
        projection,
    }
}

fn request(name: &str) -> CreateTable {
    let included = vec!["a".to_owned(), "b".to_owned()];
    let schema = TableSchema {
        key: KeySchema {
            partition: attribute("P", KeyType::S),
            sort: Some(attribute("N", KeyType::N)),
        },
        indexes: vec![
            index("all", IndexKind::Global, IndexProjection::All),
            index("keys", IndexKind::Local, IndexProjection::KeysOnly),
            index(
                "some",
                IndexKind::Global,
                IndexProjection::Include(included),
            ),
        ],
    };
    CreateTable::new(name.parse().unwrap(), schema)
}

#[test]
fn what_is_stored_comes_back() {
    let mut tables = Tables::default();
    let table = tables.create(request("notes"), 5).unwrap();
    let Edit::Put(key, value) = tables.edit(&table.name) else {
        panic!("a table is put");
    };
    assert_eq!(stored::read(&key, &value), Some((*table).clone()));
    assert_eq!(stored::read(&key, &value[1..]), None);
    assert_eq!(stored::read(b"t\xFF", &value), None);
}

#[test]
fn no_id_is_handed_out_twice() {
    let mut tables = Tables::default();
    let first = tables.create(request("notes"), 0).unwrap();
    tables.delete(&first.name).unwrap();
    let second = tables.create(request("notes"), 0).unwrap();
    assert_eq!(first.ids().collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(second.ids().collect::<Vec<_>>(), [5, 6, 7, 8]);
    assert_eq!(
        tables.edit_last_id(),
        Edit::Put(b"n".to_vec(), vec![0, 0, 0, 8])
    );
    tables.last_id = u32::MAX;
    assert!(tables.create(request("other"), 0).is_err());
    assert_eq!(tables.all().count(), 1);
}
