use std::time::Duration;

use tokio::time::timeout;

use super::*;

/// How many of these requests find a place while none is taken out.
async fn accepted(bytes: usize, tries: usize) -> usize {
    let (queue, waiting) = Queue::new();
    for _ in 0..tries {
        let queue = queue.clone();
        tokio::spawn(async move { queue.write(bytes, |_| Ok(())).await });
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    waiting.len()
}

#[tokio::test]
async fn the_queue_is_bounded_by_requests_and_by_bytes() {
    assert_eq!(accepted(100, 2_000).await, WAITING_MAX);
    let megabytes = WAITING_BYTES_MAX as usize / 1_048_576;
    assert_eq!(accepted(4 * 1_048_576, 2_000).await, megabytes / 4);
    assert_eq!(
        accepted(usize::MAX, 5).await,
        1,
        "even the largest is alone at some time"
    );
}

#[tokio::test]
async fn a_queue_that_nobody_reads_any_more_is_closed() {
    let (queue, waiting) = Queue::new();
    drop(waiting);
    let answer = timeout(Duration::from_secs(5), queue.write(1, |_| Ok(()))).await;
    assert!(matches!(answer, Ok(Err(StoreError::Unavailable { .. }))));
}

#[tokio::test]
async fn a_weak_queue_keeps_nobody_waiting() {
    let (queue, mut waiting) = Queue::new();
    let weak = queue.downgrade();
    assert!(weak.upgrade().is_some());
    drop(queue);
    assert!(weak.upgrade().is_none());
    assert!(waiting.recv().await.is_none());
}
