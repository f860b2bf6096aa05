//! Every object damaged in turn, in every way: what is restored is right, or it is refused by name.

use std::path::Path;

use partita_backup::restoring::{Moment, Plan};
use partita_backup::{BackupError, Catalog, Shipper, Target, Wanted, retention};

use crate::stage::{STORE, Stage, WORDS, key_of, rest, restore};

async fn backed_up(seed: u64, key: Option<u8>) -> Stage {
    let mut stage = Stage::new(seed).await;
    let target = stage.target();
    stage.write(3).await;
    let begun = Shipper::begin(stage.shipping(target, key), "a test").await;
    // A base in pieces of several moments, which needs every segment.
    let mut shipper = begun.unwrap().with_pieces_of(200);
    shipper.step().await.unwrap();
    for _ in 0..3 {
        stage.write(2).await;
        rest(&mut shipper).await.unwrap();
    }
    stage
}

/// Restores, and holds what comes of it against the truth. The error, if there is one.
async fn attempt(stage: &Stage, target: &dyn Target, key: Option<u8>) -> Option<BackupError> {
    let place = stage.place("attempt");
    let last = stage.store.last_commit();
    let restored = restore(target, Moment::Commit(last.number), &place, key).await;
    let error = match restored {
        Ok(restored) => {
            assert_eq!(restored.commit, last);
            stage.compare(&place, restored.commit).await;
            None
        }
        Err(error) => {
            assert!(
                !place.join("data").exists(),
                "nothing that looks like a store"
            );
            Some(error)
        }
    };
    if place.exists() {
        std::fs::remove_dir_all(place).unwrap();
    }
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_told_by_the_name_of_its_object() {
    for key in [None, Some(9)] {
        let stage = backed_up(11, key).await;
        let target = stage.target();
        let root = stage.place("target");
        assert!(attempt(&stage, &*target, key).await.is_none());
        let objects = target.list("chains/").await.unwrap();
        assert!(objects.len() >= 6, "{objects:?}");
        for object in &objects {
            let path = root.join(&object.name);
            let good = std::fs::read(&path).unwrap();
            let flips = [0, good.len() / 2, good.len() - 1];
            let flipped = flips.map(|at| {
                let mut bytes = good.clone();
                bytes[at] ^= 4;
                Some(bytes)
            });
            let cut = [0, good.len() / 2, good.len() - 1].map(|end| Some(good[..end].to_vec()));
            for damaged in flipped.into_iter().chain(cut).chain([None]) {
                match &damaged {
                    Some(bytes) => std::fs::write(&path, bytes).unwrap(),
                    None => std::fs::remove_file(&path).unwrap(),
                }
                check(&stage, &*target, &object.name, key).await;
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &good).unwrap();
            }
        }
        assert!(attempt(&stage, &*target, key).await.is_none());
    }
}

/// A damaged object is told by its name, unless the restore does without it.
async fn check(stage: &Stage, target: &dyn Target, name: &str, key: Option<u8>) {
    let Some(error) = attempt(stage, target, key).await else {
        // What says why a chain began is of no consequence for what is in it.
        assert!(name.ends_with("chain.json"), "{name} was not noticed");
        return;
    };
    let text = error.to_string();
    let segment = name
        .rsplit('/')
        .next()
        .and_then(|first| first.parse::<u64>().ok());
    let is_named = text.contains(name)
        || name.ends_with("chain.json")
        || (name.ends_with("/base") && matches!(error, BackupError::NoMoment(_)))
        || segment.is_some_and(|first| names_gap(&error, first));
    assert!(is_named, "{name}: {text}");
}

fn names_gap(error: &BackupError, number: u64) -> bool {
    match error {
        BackupError::Gap { first, last, .. } => (*first..=*last).contains(&number),
        // Without its last segment a chain is shorter, and does not have the wanted commit.
        BackupError::NoMoment(_) => true,
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_in_each_others_place_are_told() {
    for key in [None, Some(9)] {
        let stage = backed_up(12, key).await;
        let target = stage.target();
        let objects = target.list("chains/").await.unwrap();
        let sealed: Vec<_> = objects
            .iter()
            .filter(|one| !one.name.ends_with(".json"))
            .collect();
        for pair in sealed.windows(2) {
            let [one, other] =
                [&pair[0].name, &pair[1].name].map(|name| stage.place("target").join(name));
            swap(&one, &other);
            let error = attempt(&stage, &*target, key).await.expect("it is noticed");
            let text = error.to_string();
            assert!(
                text.contains(&pair[0].name) || text.contains(&pair[1].name),
                "{text}"
            );
            swap(&one, &other);
        }
    }
}

fn swap(one: &Path, other: &Path) {
    let (first, second) = (std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    std::fs::write(one, second).unwrap();
    std::fs::write(other, first).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_backup_shows_nothing_and_opens_with_its_key_only() {
    let is_shown = async |key: Option<u8>| {
        let stage = backed_up(13, key).await;
        let target = stage.target();
        let mut is_shown = false;
        for object in target.list("chains/").await.unwrap() {
            let bytes = target.get(&object.name).await.unwrap();
            for words in [WORDS, "notes", "text", "the secret of the server"] {
                is_shown |= bytes
                    .windows(words.len())
                    .any(|part| part == words.as_bytes());
            }
        }
        (stage, is_shown)
    };
    let (plain, plain_is_shown) = is_shown(None).await;
    assert!(plain_is_shown, "the test finds what is readable");
    let secret = restore(&*plain.target(), Moment::Last, &plain.place("plain"), None).await;
    assert_eq!(
        secret.unwrap().secret,
        None,
        "a secret leaves only under a key"
    );
    let (stage, sealed_is_shown) = is_shown(Some(9)).await;
    assert!(!sealed_is_shown);
    let target = stage.target();
    for key in [None, Some(8)] {
        let refused = restore(&*target, Moment::Last, &stage.place("no"), key).await;
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("is encrypted"), "{text}");
    }
    let keys = [key_of(1), key_of(9)];
    let catalog = Catalog::read(&*target).await.unwrap();
    let summaries = catalog.summaries(&*target, &keys).await.unwrap();
    assert!(summaries[0].moments.is_some());
    let restored = restore(&*target, Moment::Last, &stage.place("yes"), Some(9))
        .await
        .unwrap();
    assert_eq!(
        restored.secret.as_deref(),
        Some(&b"the secret of the server"[..])
    );
    stage.compare(&stage.place("yes"), restored.commit).await;
}

/// Whoever can write to a target can put a chain there. Without the key it can be none that is
/// restored, nor one that another goes for.
#[tokio::test(flavor = "multi_thread")]
async fn beside_a_key_a_chain_without_one_is_refused() {
    let mut stage = backed_up(13, Some(9)).await;
    let target = stage.target();
    let sealed = restore(&*target, Moment::Last, &stage.place("sealed"), Some(9)).await;
    let sealed = sealed.unwrap();
    stage.write(3).await;
    let planted = Shipper::begin(stage.shipping(target.clone(), None), "planted").await;
    rest(&mut planted.unwrap()).await.unwrap();
    let (at, last) = (Moment::Commit(sealed.commit.number), Moment::Last);
    let refused = restore(&*target, last, &stage.place("no"), Some(9)).await;
    let refused = refused.unwrap_err();
    let cause = std::error::Error::source(&refused).unwrap().to_string();
    assert!(cause.contains("chains/000002 is not encrypted"), "{cause}");
    // The chain of the key can be named, and so can the other.
    for (chain, plain_too, is_good) in [(1, false, true), (2, false, false), (2, true, true)] {
        let wanted = Wanted {
            chain: Some(chain),
            plain_too,
            ..Wanted::default()
        };
        let plan = Plan::make(&*target, &[key_of(9)], wanted).await;
        assert_eq!(plan.is_ok(), is_good, "chain {chain}");
    }
    let removed = retention::remove_before(&*target, &[key_of(9)], STORE, i64::MAX, None).await;
    assert!(removed.is_ok(), "{removed:?}");
    let catalog = Catalog::read(&*target).await.unwrap();
    let chains = catalog.summaries(&*target, &[key_of(9)]).await.unwrap();
    let keys: Vec<bool> = chains.iter().map(|chain| chain.key.is_some()).collect();
    assert_eq!(keys, [true, false], "the encrypted chain is there");
    let wanted = Wanted {
        chain: Some(1),
        moment: at,
        plain_too: false,
    };
    assert!(Plan::make(&*target, &[key_of(9)], wanted).await.is_ok());
}

/// A damaged chain is told beside the others, and does not keep a later one from being restored.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_chain_hides_no_other() {
    let mut stage = backed_up(13, None).await;
    let target = stage.target();
    stage.write(1).await;
    let begun = Shipper::begin(stage.shipping(target.clone(), None), "another").await;
    rest(&mut begun.unwrap()).await.unwrap();
    let objects = target.list("chains/000001/").await.unwrap();
    let is_looked_at = |name: &str| name.ends_with("/chain.json") || name.contains("/bases/");
    for object in objects.iter().filter(|object| is_looked_at(&object.name)) {
        let bytes = target.get(&object.name).await.unwrap();
        target.remove(&object.name).await.unwrap();
        let catalog = Catalog::read(&*target).await.unwrap();
        let chains = catalog.summaries(&*target, &[]).await.unwrap();
        assert_eq!(chains.len(), 2, "{}", object.name);
        assert!(chains[1].damage.is_none() && chains[1].moments.is_some());
        // Without what makes it whole a base is one that was not finished.
        if object.name.ends_with("/base") {
            assert_eq!(chains[0].moments, None);
        } else {
            let damage = chains[0].damage.as_deref().unwrap_or_default();
            assert!(damage.contains(&object.name), "{damage}");
        }
        let place = stage.place("attempt-2");
        let restored = restore(&*target, Moment::Last, &place, None).await.unwrap();
        assert_eq!(
            (restored.chain, restored.commit),
            (2, stage.store.last_commit())
        );
        std::fs::remove_dir_all(place).unwrap();
        target.put(&object.name, bytes).await.unwrap();
    }
}
