//! How much clients are granted.

use std::net::IpAddr;
use std::num::NonZeroU32;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct LimitFlags {
    /// Connections at a time; fewer where the system lets the server open too few files. Some more
    /// are kept for health checks and administrators
    #[arg(
        long,
        env = "PARTITA_CONNECTIONS",
        value_name = "COUNT",
        default_value = "4096"
    )]
    pub(crate) connections: NonZeroU32,

    /// Connections at a time that one address may have, or one network of 64 bits of IPv6
    #[arg(
        long,
        env = "PARTITA_CONNECTIONS_PER_ADDRESS",
        value_name = "COUNT",
        default_value = "256"
    )]
    pub(crate) connections_per_address: NonZeroU32,

    /// Address of a proxy; `--connections-per-address` does not apply to it. May be given more than
    /// once
    #[arg(
        long,
        env = "PARTITA_TRUSTED_PROXY",
        value_name = "ADDRESS",
        value_delimiter = ',',
        default_values = ["127.0.0.1", "::1"]
    )]
    pub(crate) trusted_proxy: Vec<IpAddr>,

    /// Megabytes of bodies that are held at a time, at least 64; a sixteenth of the memory unless
    /// given. Callers without a token or a signature share a quarter of it beside that
    #[arg(
        long,
        env = "PARTITA_BODIES_MB",
        value_name = "MB",
        value_parser = clap::value_parser!(u32).range(64..)
    )]
    pub(crate) bodies_mb: Option<u32>,

    /// Megabytes of outcomes under idempotency keys that are kept of one caller and hour; they are
    /// kept for a day
    #[arg(
        long,
        env = "PARTITA_IDEMPOTENCY_MB",
        value_name = "MB",
        default_value = "32"
    )]
    pub(crate) idempotency_mb: NonZeroU32,

    /// Feeds at a time. Each has a connection
    #[arg(
        long,
        env = "PARTITA_FEEDS",
        value_name = "COUNT",
        default_value = "2048"
    )]
    pub(crate) feeds: NonZeroU32,

    /// Feeds at a time that one caller may have, or one address without a token
    #[arg(
        long,
        env = "PARTITA_FEEDS_PER_CALLER",
        value_name = "COUNT",
        default_value = "32"
    )]
    pub(crate) feeds_per_caller: NonZeroU32,

    /// Kilobytes of events that wait for the reader of a feed. One who is slower has to begin again
    #[arg(
        long,
        env = "PARTITA_FEED_BUFFER_KB",
        value_name = "KB",
        default_value = "1024"
    )]
    pub(crate) feed_buffer_kb: NonZeroU32,
}
