//! Tests with a model of the published desktop client, which is written from
//! its wire format alone: two devices of one account over days, and many
//! devices concurrently.
//!
//! The message of an assertion states the rule of the protocol that it checks.
//!
//! - [`device`] is the state of a device; [`push`], [`pull`], [`chats`] and
//!   [`encryption`] are its operations; [`read`] fails the test if the client
//!   could not parse an answer.
//! - [`world`] is the server and its clock, to which each device has its own
//!   skew. Every request advances it a little, like the client's pacing.
//! - [`days`] are the tests of two devices over days. [`chaos`] is the
//!   concurrent one; it prints its seed, and checks rows against [`model`].

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
