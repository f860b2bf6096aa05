//! How many uploads a caller may have that no item has taken over.

use tokio::task::JoinSet;

use super::*;

async fn is_granted(scene: &Scene, user: &str) -> bool {
    match scene.ask(&Caller::user(user), "covers", "image/png").await {
        Ok(_) => true,
        Err(PlanError::TooManyUploads { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

/// How many uploads a caller is granted, one after the other.
async fn granted(scene: &Scene, user: &str) -> usize {
    let mut count = 0;
    while is_granted(scene, user).await {
        count += 1;
    }
    count
}

#[tokio::test]
async fn a_caller_has_so_many_uploads_and_no_more() {
    let scene = Scene::new().await;
    assert_eq!(granted(&scene, "ann").await, LIMITS.open);
    let refused = scene.ask(&Caller::user("ann"), "shared", "image/png").await;
    let expected = PlanError::TooManyUploads {
        open: LIMITS.open,
        wait_seconds: 24 * 3600,
    };
    assert_eq!(refused, Err(expected));
    assert_eq!(granted(&scene, "bob").await, LIMITS.open, "not ann's");

    // What is removed makes room.
    scene.clock.advance(24 * HOUR + 1);
    assert_eq!(granted(&scene, "ann").await, 0, "it is still there");
    scene.sweep().await;
    assert_eq!(granted(&scene, "ann").await, LIMITS.open);
}

#[tokio::test]
async fn what_is_taken_over_makes_room() {
    let scene = Scene::new().await;
    for round in 0..3 {
        let mut uploads = Vec::new();
        for _ in 0..LIMITS.open {
            uploads.push(scene.upload("ann", "covers").await);
        }
        assert!(!is_granted(&scene, "ann").await);
        for (index, upload) in uploads.iter().enumerate() {
            let album = json!({"albumId": format!("{round}-{index}"), "cover": upload.name});
            scene.create("ann", album).await.unwrap();
        }
    }
    for _ in 0..2 * LIMITS.open {
        let upload = scene.sent("ann", "shared").await;
        scene.partita.arrived("files", &upload.name).await.unwrap();
    }
    // One that stays under the temporary prefix is an item's, too.
    for index in 0..2 * LIMITS.open {
        let upload = scene.upload("ann", "temp").await;
        let album = json!({"albumId": format!("draft-{index}"), "drafts": [upload.name]});
        scene.create("ann", album).await.unwrap();
    }
    assert_eq!(granted(&scene, "ann").await, LIMITS.open);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_at_once_has_no_more() {
    let scene = Arc::new(Scene::new().await);
    let mut asks = JoinSet::new();
    for _ in 0..30 {
        let scene = scene.clone();
        asks.spawn(async move {
            let ann = Caller::user("ann");
            scene.ask(&ann, "covers", "image/png").await.is_ok()
        });
    }
    let answers = asks.join_all().await;
    let together = answers.iter().filter(|is_granted| **is_granted).count();
    assert!((1..=LIMITS.open).contains(&together), "{together}");
    assert_eq!(granted(&scene, "ann").await, LIMITS.open - together);
}
