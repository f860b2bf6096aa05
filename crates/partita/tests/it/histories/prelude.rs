//! What there is before a history begins: people, those with a rank, and, where a history is to
//! have jobs, something to which more refer than a transaction holds.

use partita_core::Value;
use partita_core::expression::Update;
use partita_design::template::dotted;
use partita_plan::Operation;
use partita_store::request::{ReturnValues, UpdateItem};

use super::cast::Cast;
use super::generator::{Generator, Kind, Proposal};
use super::history::{Plan, Stage};

/// More than a transaction has room for.
const CROWD: usize = 104;
/// How often something is tried that draws may make impossible.
const TRIES: usize = 1000;

/// Sets the stage.
pub(crate) async fn play(stage: &Stage, plan: &Plan) {
    let mut random = fastrand::Rng::with_seed(plan.seed + 2_000_000);
    let design = stage.calm.design();
    let entity = design
        .callers
        .entity
        .map(|entity| design[entity].name.clone());
    if let Some(entity) = entity {
        sign_up_staff(stage, &entity, &mut random).await;
        // One is left who can still sign up.
        for _ in 1..stage.cast.people.len() {
            sign_up(stage, &stage.cast, &entity, &mut random).await;
        }
    }
    if plan.has_crowds {
        for (target, of) in stage.notes.crowds {
            crowd(stage, target, of, &mut random).await;
        }
    }
}

async fn sign_up_staff(stage: &Stage, entity: &str, random: &mut fastrand::Rng) {
    let Some((attribute, ranks)) = &stage.cast.ranks else {
        return;
    };
    for (caller, rank) in stage.cast.staff.iter().zip(ranks) {
        let cast = Cast {
            people: vec![caller.clone()],
            staff: Vec::new(),
            ranks: None,
        };
        let mut tries = 0;
        while !sign_up(stage, &cast, entity, random).await {
            tries += 1;
            assert!(tries < TRIES, "nobody becomes a {entity}");
        }
        // Only a write to the table itself gives the first one a rank.
        promote(
            stage,
            entity,
            caller.id.as_ref().unwrap(),
            (attribute, rank),
        )
        .await;
    }
}

/// Creates one of the people. Where they sign in, no rule lets them do that.
async fn sign_up(stage: &Stage, cast: &Cast, entity: &str, random: &mut fastrand::Rng) -> bool {
    let has_accounts = stage.calm.has_sign_in();
    let kind = Kind::Create(entity.to_owned());
    let proposal = propose(stage, cast, &kind, None, has_accounts, random);
    let Some(Proposal {
        caller, operation, ..
    }) = proposal
    else {
        return false;
    };
    match operation {
        Operation::Create { entity, attributes } if has_accounts => {
            let made = stage.calm.create_past_rules(&entity, attributes);
            made.await.is_ok()
        }
        operation => stage.calm.run(&caller, operation).await.is_ok(),
    }
}

async fn promote(stage: &Stage, entity: &str, id: &String, (name, rank): (&str, &Value)) {
    let update = {
        let seen = stage.witness.seen();
        let item = seen.world.get(entity, std::slice::from_ref(id)).unwrap();
        let table = &seen.world.design.tables[0];
        let keys = [table.partition.as_str(), table.sort.as_str()];
        UpdateItem {
            table: table.name.parse().unwrap(),
            key: keys
                .map(|name| (name.to_owned(), item[name].clone()))
                .into(),
            update: Update::default().setting(dotted(name), rank.clone()),
            condition: None,
            return_item_on_failure: false,
        }
    };
    stage
        .store
        .update_item(update, ReturnValues::None)
        .await
        .unwrap();
}

/// Many items that refer to one.
async fn crowd(stage: &Stage, target: &str, of: &str, random: &mut fastrand::Rng) {
    let mut favourite = a_new_one(stage, target, random).await;
    let kind = Kind::Create(of.to_owned());
    let mut tries = 0;
    while stage.witness.seen().world.all(of).count() < CROWD {
        attempt(stage, &kind, Some((target, &favourite)), random).await;
        // Some things may be done only so often in a time.
        stage.clock.pass(100_000);
        tries += 1;
        // Around what only somebody who cannot act may see, nobody gathers.
        if tries % (4 * CROWD) == 0 {
            favourite = a_new_one(stage, target, random).await;
        }
        assert!(
            tries < 40 * CROWD,
            "no crowd of {of} gathers around {target}"
        );
    }
}

/// Makes one more of an entity.
async fn a_new_one(stage: &Stage, entity: &str, random: &mut fastrand::Rng) -> Vec<String> {
    let identities = || {
        let seen = stage.witness.seen();
        let all = seen.world.all(entity).map(|(identity, _)| identity.clone());
        all.collect::<Vec<_>>()
    };
    let before = identities();
    let kind = Kind::Create(entity.to_owned());
    loop {
        attempt(stage, &kind, None, random).await;
        if let Some(new) = identities().into_iter().find(|one| !before.contains(one)) {
            return new;
        }
    }
}

type Favourite<'f> = Option<(&'f str, &'f [String])>;

async fn attempt(
    stage: &Stage,
    kind: &Kind,
    favourite: Favourite<'_>,
    random: &mut fastrand::Rng,
) -> bool {
    let proposal = propose(stage, &stage.cast, kind, favourite, false, random);
    let Some(Proposal {
        caller, operation, ..
    }) = proposal
    else {
        return false;
    };
    stage.calm.run(&caller, operation).await.is_ok()
}

fn propose(
    stage: &Stage,
    cast: &Cast,
    kind: &Kind,
    favourite: Favourite<'_>,
    is_careless: bool,
    random: &mut fastrand::Rng,
) -> Option<Proposal> {
    let seen = stage.witness.seen();
    let mut generator = Generator {
        world: &seen.world,
        cast,
        notes: stage.notes,
        random,
        now_millis: stage.clock.now_millis(),
        favourite,
        is_careless,
    };
    generator.propose(kind)
}
