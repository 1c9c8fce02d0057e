//! Application of the tests: methods that cover each kind of call.

use std::collections::HashMap;

use pia_signalr::{ClientInvocation, ExpectedReply, HubConnection, HubEvent, Reconnect, SendError};
use serde_json::{Value, json};

/// State of one client.
#[derive(Default)]
pub(crate) struct EchoHub {
    /// Invocations of the client that wait for its own answer, by the id of the
    /// question.
    questions: HashMap<String, String>,
    /// Sums of uploaded streams, with the reply that the client expects.
    uploads: HashMap<String, (i64, ExpectedReply)>,
    /// Streams of numbers: their next item, and their end.
    counts: HashMap<String, (u64, u64)>,
}

/// Length of buffered messages above which streams pause.
const PAUSE_BYTES: usize = 16 * 1024;

/// Action that the application needs beside the connection's own.
pub(crate) enum Action {
    None,
    /// Loss of the transport, with all that is sent now.
    Drop,
    /// Loss of the transport and of the connection.
    Forget,
    /// Completion of an invocation after so many milliseconds.
    Delay(String, u64),
}

impl EchoHub {
    /// Responds to an event.
    pub(crate) fn handle(
        &mut self,
        connection: &mut HubConnection,
        event: HubEvent,
    ) -> Result<Action, SendError> {
        match event {
            HubEvent::Connected => {}
            HubEvent::Invoked(call) => return self.invoke(connection, call),
            HubEvent::Canceled { invocation_id } => {
                self.counts.remove(&invocation_id);
                connection.complete(&invocation_id, Ok(None))?;
                connection.send("canceled", vec![])?;
            }
            HubEvent::StreamItem { stream_id, item } => match self.uploads.get_mut(&stream_id) {
                Some((_, ExpectedReply::Stream(id))) => connection.send_item(id, item)?,
                Some((sum, _)) => *sum += item.as_i64().unwrap_or_default(),
                None => {}
            },
            HubEvent::StreamEnded { stream_id, error } => match self.uploads.remove(&stream_id) {
                Some((sum, ExpectedReply::None)) => connection.send("noted", vec![json!(sum)])?,
                Some((sum, ExpectedReply::Completion(id) | ExpectedReply::Stream(id))) => {
                    connection.complete(&id, error.map_or(Ok(Some(json!(sum))), Err))?;
                }
                None => {}
            },
            HubEvent::Returned { invocation_id, result } => {
                if let Some(asker) = self.questions.remove(&invocation_id) {
                    connection.complete(&asker, result)?;
                }
            }
        }
        Ok(Action::None)
    }

    /// Sends items of streams while the client keeps up.
    pub(crate) fn produce(&mut self, connection: &mut HubConnection) -> Result<(), SendError> {
        for (id, (next, end)) in &mut self.counts {
            while next < end && connection.buffered_bytes() < PAUSE_BYTES {
                connection.send_item(id, json!(next))?;
                *next += 1;
            }
        }
        for (id, _) in self.counts.extract_if(|_, (next, end)| next == end) {
            connection.complete(&id, Ok(None))?;
        }
        Ok(())
    }

    fn invoke(
        &mut self,
        connection: &mut HubConnection,
        call: ClientInvocation,
    ) -> Result<Action, SendError> {
        let argument = call.arguments.first().cloned().unwrap_or_default();
        let number = argument.as_u64().unwrap_or_default();
        if let [stream_id] = &call.stream_ids[..] {
            self.uploads.insert(stream_id.clone(), (0, call.reply));
            return Ok(Action::None);
        }
        match call.reply {
            ExpectedReply::None => connection.send("noted", vec![argument])?,
            ExpectedReply::Stream(id) => match call.target.as_str() {
                "Count" => {
                    self.counts.insert(id, (0, number));
                }
                "Endless" => connection.send_item(&id, json!("first"))?,
                "BreakOff" => {
                    connection.send_item(&id, json!("first"))?;
                    connection.complete(&id, Err("it broke off".to_owned()))?;
                }
                _ => connection.complete(&id, Err("no such stream".to_owned()))?,
            },
            ExpectedReply::Completion(id) => match call.target.as_str() {
                "Echo" => connection.complete(&id, Ok(Some(argument)))?,
                "Arguments" => connection.complete(&id, Ok(Some(Value::Array(call.arguments))))?,
                "Void" => connection.complete(&id, Ok(None))?,
                "Fail" => connection.complete(&id, Err("it failed".to_owned()))?,
                "Ask" => {
                    let question = connection.invoke("question", vec![argument])?;
                    self.questions.insert(question, id);
                }
                "Drop" => {
                    connection.complete(&id, Ok(Some(argument)))?;
                    return Ok(Action::Drop);
                }
                "Forget" => return Ok(Action::Forget),
                "Wait" => return Ok(Action::Delay(id, number)),
                "Restart" => connection.close(Some("restart".to_owned()), Reconnect::Allowed),
                "Expel" => connection.close(Some("expelled".to_owned()), Reconnect::Denied),
                _ => connection.complete(&id, Err("no such method".to_owned()))?,
            },
        }
        Ok(Action::None)
    }
}
