//! How much memory there is to use, and how much of it is for what was read lately and for what
//! comes in.

use std::fs;

/// The part of the memory that the cache may fill: enough to matter, and small beside what the
/// system's own cache of files and other programs want.
const CACHE_SHARE: u64 = 8;

/// The part that bodies may fill. What is made of them while they are worked on takes some more.
const BODIES_SHARE: u64 = 16;

/// Four of the largest bodies, so that there is always room for one whose sender is not known.
const BODIES_MB_MIN: u32 = 64;

/// Used where the system does not say how much memory there is.
const DEFAULT_MB: u32 = 256;

const MEGABYTE: u64 = 1_048_576;

/// Megabytes for the cache of the embedded store, unless somebody has said how many.
pub(crate) fn cache_mb() -> u32 {
    share_mb(CACHE_SHARE)
}

/// Megabytes for bodies, unless somebody has said how many.
pub(crate) fn bodies_mb() -> u32 {
    share_mb(BODIES_SHARE).max(BODIES_MB_MIN)
}

fn share_mb(share: u64) -> u32 {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let machine = machine.as_deref().and_then(total_of_machine);
    let container = container.as_deref().and_then(limit_of_container);
    let bytes = machine.into_iter().chain(container).min();
    let part = bytes.map(|bytes| bytes / share / MEGABYTE);
    part.map_or(DEFAULT_MB, |mb| u32::try_from(mb).unwrap_or(u32::MAX))
}

/// What the line `MemTotal:  24604268 kB` says.
fn total_of_machine(meminfo: &str) -> Option<u64> {
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes = total.trim().strip_suffix(" kB")?;
    kilobytes.parse::<u64>().ok()?.checked_mul(1_024)
}

/// The limit of a control group in bytes; none if it says `max`.
fn limit_of_container(memory_max: &str) -> Option<u64> {
    memory_max.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_understood() {
        let meminfo = "MemTotal:       24604268 kB\nMemFree:         1000 kB\n";
        assert_eq!(total_of_machine(meminfo), Some(24_604_268 * 1_024));
        assert_eq!(total_of_machine("MemFree: 1 kB\n"), None);
        assert_eq!(total_of_machine("MemTotal: many kB\n"), None);
        assert_eq!(limit_of_container("536870912\n"), Some(536_870_912));
        assert_eq!(limit_of_container("max\n"), None);
    }

    #[test]
    fn there_is_always_some() {
        assert!(cache_mb() > 0);
        assert!(bodies_mb() >= BODIES_MB_MIN);
    }
}
