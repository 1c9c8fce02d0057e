//! Pods: programs of an operator's that connect to the server and bring tools.
//!
//! A *connector* is the permission to do so: it has tokens, and is granted to
//! groups. A *pod* is a program that is connected with one of its tokens.
//!
//! A pod presents a token (`Connectors::authenticate`), describes itself
//! (`description.rs`) and is stored in the registry. A chat lists and calls its
//! tools by `tool_plane.rs`: begin there. `PodLink` carries the call, whichever
//! instance the pod is connected to. An MCP server of a connector is registered
//! as a pod without a token.

mod connected_pod;
mod connector;
mod connectors;
mod description;
mod error;
mod granted_pods;
mod ports;
mod schema;
mod token;
mod tool_plane;

pub use connected_pod::{ConnectedPod, PodId};
pub use connector::{Connector, ConnectorDraft, ValidToken};
pub use connectors::{Connectors, PodIdentity, Provisioned, RotatedToken};
pub use description::{OfferedSkill, PodDescription, PodTool};
pub use error::{ConnectorError, DescriptionError, SkillCallError, ToolCallError};
pub use granted_pods::GrantedPods;
pub use ports::connector_store::{
    ConnectorChangeOutcome, ConnectorStore, NewConnector, NewConnectorToken, TokenRotation,
};
pub use ports::pod_link::{CallTarget, PodCall, PodLink, PodReply, ProgressSink};
pub use ports::pod_registry::{
    CallRecord, PodCallOutcome, PodRegistrationOutcome, PodRegistry, PodStanding,
};
pub use ports::tool_server::{
    McpEndpoint, NoToolServers, ToolServer, ToolServerError, ToolServers,
};
pub use token::{ConnectorToken, ConnectorTokenHash, ConnectorTokenId};
pub use tool_plane::{GrantedTool, HostedSkill, ToolCaller, ToolPlane};

#[cfg(any(test, feature = "mock"))]
pub use ports::{
    connector_store::MockConnectorStore,
    pod_link::MockPodLink,
    pod_registry::MockPodRegistry,
    tool_server::{MockToolServer, MockToolServers},
};
