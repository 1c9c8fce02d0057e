//! Credits: windows, reservations, and the views of them.

pub(crate) mod admission;
pub(crate) mod meter;
pub(crate) mod metered_call;
pub(crate) mod rates;
pub(crate) mod usage;
pub(crate) mod usage_json;

mod admission_request;
mod credit_store;
mod refusal;
mod reservation;
mod rolling;
mod settings;
mod shortage;
mod view;
mod week;
mod window;
mod windows;

pub use admission_request::{AdmissionRequest, Holder};
#[cfg(feature = "mock")]
pub use credit_store::MockCreditStore;
pub use credit_store::{Admission, CreditStore, Mismatch};
pub use refusal::{BudgetRefusal, Gauge, Period};
pub(crate) use reservation::Charge;
pub use reservation::{ReservationGuard, ReservationLine, Settlement, SettlementSink};
pub use rolling::Buckets;
pub use settings::{CreditSettings, FreeTier};
pub use shortage::TruncationCause;
pub use view::{CreditView, Credits, Stock, WeekGauge};
pub use week::Weeks;
pub use window::{Window, WindowKey, WindowKind};
pub use windows::{CreditWindows, Grant};
