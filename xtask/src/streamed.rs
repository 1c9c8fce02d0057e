//! Streamed responses of a model, printed as they arrive.

#![expect(clippy::indexing_slicing, reason = "a JSON value lacks a key as null, not by a panic")]

use std::io::{BufRead, BufReader, Write, stdout};

use serde_json::Value;
use ureq::Body;
use ureq::http::Response;

use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::walk::expect;

/// Streamed response, printed as it arrives.
#[derive(Default)]
pub(crate) struct Streamed {
    pub(crate) chunks: u32,
    pub(crate) usage: Value,
    pub(crate) is_done: bool,
}

impl Streamed {
    pub(crate) fn read(mut stream: Response<Body>, interrupt: &Interrupt) -> Outcome<Self> {
        let mut streamed = Self::default();
        for line in BufReader::new(stream.body_mut().as_reader()).lines() {
            interrupt.check()?;
            let line = line?;
            let Some(data) = line.strip_prefix("data: ") else { continue };
            if data == "[DONE]" {
                streamed.is_done = true;
                continue;
            }
            streamed.take(&serde_json::from_str(data)?)?;
        }

        Ok(streamed)
    }

    fn take(&mut self, event: &Value) -> Outcome {
        expect(event["error"].is_null(), "the stream carries an error", event)?;

        if event["usage"].is_object() {
            self.usage = event["usage"].clone();
        }

        if let Some(text) = event["choices"][0]["delta"]["content"].as_str()
            && !text.is_empty()
        {
            self.chunks += 1;
            print!("{text}");
            stdout().flush()?;
        }

        Ok(())
    }
}
