//! `/api/e2ee`: devices of encrypted accounts, and the distribution of their
//! keys.

mod activate;
mod approve;
mod devices;
mod path_device;
mod recovery;
mod register;
mod status;
mod wrapped_umk;

pub(crate) use activate::{RecoveryActivationRequest, activate};
pub(crate) use approve::{DeviceApprovalRequest, approve};
pub(crate) use devices::{
    DeviceListResponse, DeviceStatusResponse, device_status, devices, revoke,
};
pub(crate) use path_device::PathDevice;
pub(crate) use recovery::{
    RecoveryProofKeyRequest, RecoveryWrappedUmkRequest, RecoveryWrappedUmkResponse, put_proof_key,
    recovery, store_recovery,
};
pub(crate) use register::{DeviceRegistrationRequest, DeviceRegistrationResponse, register};
pub(crate) use status::{E2eeStatusResponse, status};
pub(crate) use wrapped_umk::{
    WrappedUmkRequest, WrappedUmkResponse, store_wrapped_umk, wrapped_umk,
};

/// Version of key wrapping, so far the only one: AES-256-GCM under a derived
/// key.
const WRAP_VERSION: i32 = 1;
