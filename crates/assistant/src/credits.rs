//! What may be spent: windows, reservations, and what is told of them.

mod admission_request;
mod credit_store;
mod windows;
mod reservation;
mod refusal;
mod rolling;
mod settings;
mod shortage;
mod view;
mod week;
mod window;

pub use admission_request::{AdmissionRequest, Holder};
#[cfg(feature = "mock")]
pub use credit_store::MockCreditStore;
pub use credit_store::{Admission, CreditStore, Mismatch};
pub use windows::{CreditWindows, Grant};
pub(crate) use reservation::Charge;
pub use reservation::{ReservationGuard, ReservationLine, Settlement, SettlementSink};
pub use refusal::{BudgetRefusal, Gauge, Period};
pub use rolling::Buckets;
pub use settings::{CreditSettings, FreeTier};
pub use shortage::TruncationCause;
pub use view::{CreditView, Credits, Stock, WeekGauge};
pub use week::Weeks;
pub use window::{WindowKind, Window, WindowKey};
