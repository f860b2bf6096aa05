//! The whole product: scenarios on every store, faults, crashes, the README, the command line.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod access;
mod accounts;
mod administration;
mod adopt;
mod backup;
mod bad_input;
mod batches;
mod behaviours;
mod beyond;
mod browser;
mod clients;
mod command_line;
mod config;
mod console;
#[cfg(feature = "dynamodb")]
mod copy;
mod crash;
mod crash_endpoint;
mod demo;
mod dependencies;
mod deploy;
mod drift;
#[cfg(feature = "dynamodb")]
mod dynamodb;
mod earlier;
mod endpoint;
mod evolution;
mod export;
mod faults;
mod feeds;
mod file_histories;
mod files;
mod full_disk;
mod generators;
mod governed;
mod guides;
mod histories;
mod hostile;
mod house;
mod http;
mod issuer;
mod jobs;
mod layers;
mod left_out;
mod live;
mod logs;
mod meddler;
mod memberships;
mod monitoring;
mod moving_counts;
mod numbers;
mod openapi;
mod outbox;
mod overload;
mod pressure;
mod readme;
mod repair_bounds;
mod repair_order;
mod repairs;
mod repairs_at_once;
mod repairs_under_load;
mod rest;
#[cfg(feature = "s3")]
mod s3;
mod scaling;
mod scenario;
mod scenarios;
mod schedules;
mod schemathesis;
mod sdk;
mod secrets;
mod server;
#[cfg(feature = "dynamodb")]
mod several_servers;
mod soft_referrers;
mod stage;
mod tables;
mod twice;
mod typescript;
