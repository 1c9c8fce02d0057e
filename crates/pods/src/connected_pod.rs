//! Connected pod.

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
    /// Name of the machine of the instance.
    pub host: String,
    /// Description that the pod sent.
    pub description: PodDescription,
    /// Time at which the pod connected.
    pub connected_at: Timestamp,
    /// Time until which the pod counts as connected.
    pub alive_until: Timestamp,
    /// Number of calls.
    pub calls: i64,
    /// Number of calls that failed.
    pub failures: i64,
    /// Duration of all calls in milliseconds.
    pub milliseconds: i64,
    /// True if the pod takes no further calls.
    pub is_draining: bool,
}
