use std::fs;
use std::sync::Barrier;
use std::thread;

use super::{Keeper, journals};

/// A reader that begins while the last one ends has its links.
#[test]
fn a_reader_keeps_its_links_while_another_ends() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("1.jnl"), b"one").unwrap();
    let keeper = Keeper::new(&data);
    let kept = folder.path().join("kept");
    let together = Barrier::new(2);
    for _ in 0..500 {
        let first = keeper.add_reader();
        let second = thread::scope(|scope| {
            scope.spawn(|| {
                together.wait();
                keeper.remove_reader(first);
            });
            together.wait();
            keeper.add_reader()
        });
        let found = journals(&kept).unwrap_or_default();
        assert_eq!(found.len(), 1);
        keeper.remove_reader(second);
        assert!(!kept.exists());
    }
}
