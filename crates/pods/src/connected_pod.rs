//! Connected pod, as the registry lists it. The id is that of the connection: a
//! program that connects again is another pod, with counts of its own.

use pia_kernel::{ConnectorId, Timestamp};
use uuid::Uuid;

use crate::description::PodDescription;
use crate::token::ConnectorTokenHash;

/// Id of a connection of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PodId(pub Uuid);

/// Pod that is connected to an instance of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedPod {
    /// Id of the connection.
    pub id: PodId,
    /// Connector whose token the pod presented.
    pub connector: ConnectorId,
    /// Hash of that token, without which the pod is disconnected; `None` for an MCP
    /// server that this server connects to.
    pub token: Option<ConnectorTokenHash>,
    /// Name of the machine of the instance that the pod is connected to.
    pub host: String,
    /// Description that the pod sent last.
    pub description: PodDescription,
    /// Time when the pod connected.
    pub connected_at: Timestamp,
    /// Time until which the pod counts as connected, unless it is extended.
    pub alive_until: Timestamp,
    /// Number of calls, without those that it was too busy for.
    pub calls: i64,
    /// Number of these calls that returned an error or nothing.
    pub failures: i64,
    /// Duration of all calls in milliseconds.
    pub milliseconds: i64,
    /// True if the pod takes no further calls.
    pub is_draining: bool,
}
