use super::*;

fn message(result: Result<(FjallViews, FjallCommits), EngineError>) -> String {
    match result {
        Ok(_) => panic!("it opened"),
        Err(error) => error.to_string(),
    }
}

fn set_format(directory: &Path, edit: Edit) {
    let (_views, mut commits) = open(directory, Durability::Sync, StorageRoom::SMALL).unwrap();
    commits.commit(vec![edit], 0).unwrap();
}

#[test]
fn a_second_opener_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
    let refused = message(open(directory.path(), Durability::Sync, StorageRoom::SMALL));
    assert!(
        refused.contains("is in use; stop the other process"),
        "{refused}"
    );
    drop(first);
    open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
}

#[test]
fn a_newer_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let newer = Edit::Put(keys::FORMAT.to_vec(), 7_u32.to_be_bytes().to_vec());
    set_format(directory.path(), newer);
    let refused = message(open(directory.path(), Durability::Sync, StorageRoom::SMALL));
    assert!(refused.contains("has format 7"), "{refused}");
    assert!(
        refused.contains("open it with the release that wrote it"),
        "{refused}"
    );
}

#[test]
fn an_older_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let older = Edit::Put(keys::FORMAT.to_vec(), 1_u32.to_be_bytes().to_vec());
    set_format(directory.path(), older);
    let refused = message(open(directory.path(), Durability::Sync, StorageRoom::SMALL));
    assert!(refused.contains("has format 1"), "{refused}");
    let known = format!("reads formats from {FORMAT_OLDEST} on");
    assert!(refused.contains(&known), "{refused}");
}

/// A release that writes format 4 would leave the numbers of commits out, so it must not get there
/// again.
#[test]
fn a_store_of_format_4_has_the_current_one_after_it_was_opened() {
    for durability in [Durability::Sync, Durability::Buffered] {
        let directory = tempfile::tempdir().unwrap();
        let four = Edit::Put(keys::FORMAT.to_vec(), 4_u32.to_be_bytes().to_vec());
        set_format(directory.path(), four);
        drop(open(directory.path(), durability, StorageRoom::SMALL).unwrap());
        let (views, _commits) = open(directory.path(), durability, StorageRoom::SMALL).unwrap();
        assert_eq!(check_format(directory.path(), &views).unwrap(), FORMAT);
    }
}

#[test]
fn a_missing_or_mangled_format_is_damage() {
    for edit in [
        Edit::Remove(keys::FORMAT.to_vec()),
        Edit::Put(keys::FORMAT.to_vec(), b"one".to_vec()),
    ] {
        let directory = tempfile::tempdir().unwrap();
        set_format(directory.path(), edit);
        let refused = message(open(directory.path(), Durability::Sync, StorageRoom::SMALL));
        assert!(refused.contains("does not tell its format"), "{refused}");
    }
}

#[test]
fn a_creation_that_was_cut_short_begins_again() {
    let directory = tempfile::tempdir().unwrap();
    let new = directory.path().join("data.new");
    fs::create_dir_all(new.join("keyspaces")).unwrap();
    fs::write(new.join("0.jnl"), b"half a journal").unwrap();
    open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
    assert!(!new.exists());
}

#[test]
fn a_directory_that_cannot_be_made_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, b"").unwrap();
    let refused = message(open(
        &file.join("store"),
        Durability::Sync,
        StorageRoom::SMALL,
    ));
    assert!(
        refused.contains("check that it can be written"),
        "{refused}"
    );
}
