//! The published desktop client, written from what is known of it on the wire
//! and from nothing of the server: two devices of one account go through whole
//! days, and many go through disorder.
//!
//! Every refusal of a test names the section that it rests on: `sync` is
//! `client-sync-chats.md`, `e2ee` is `client-auth-e2ee.md`, `row` is a row of
//! `decisions.md`.
//!
//! - [`device`] is what a device keeps; [`push`], [`pull`], [`chats`] and
//!   [`encryption`] are what it does; [`read`] fails the test where an answer
//!   has a form that the client cannot read.
//! - [`world`] is the server, and the clock that the server and all devices
//!   share, each device with a skew of its own. Every request moves it a little,
//!   as the client's own pacing does.
//! - [`days`] are the tests of whole days. [`chaos`] is the one of disorder; it
//!   prints its seed, and judges by what [`model`] says can have become of a row.

mod chaos;
mod chats;
mod days;
mod device;
mod encryption;
mod fields;
mod keys;
mod model;
mod moment;
mod pull;
mod push;
mod read;
mod row;
mod wire;
mod world;
