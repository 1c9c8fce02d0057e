//! Credits: windows, reservations, and the views of them.
//!
//! A call passes these files: `Gateway::admit` (`admission.rs`) asks the port `CreditStore`,
//! whose adapter applies `CreditWindows::admit` (`windows.rs`) to the stored windows and
//! returns a `ReservationGuard`. `MeteredCall` holds the guard while `Meter` counts
//! tokens, and at its drop settles it: `CreditWindows::settle` charges the windows and
//! releases the rest. Read `window.rs` and `windows.rs` first: they have the rules.

pub(crate) mod admission;
pub(crate) mod meter;
pub(crate) mod metered_call;
pub(crate) mod rates;
pub(crate) mod usage;
pub(crate) mod usage_json;

mod admission_request;
mod credit_store;
mod group_budget;
mod member_budget;
mod refusal;
mod reservation;
mod rolling;
mod settings;
mod truncation_cause;
mod usage_hours;
mod usage_range;
mod usage_report;
mod usage_sums;
mod view;
mod week;
mod window;
mod windows;

pub use admission_request::{AdmissionRequest, CreditHolder};
#[cfg(feature = "mock")]
pub use credit_store::MockCreditStore;
pub use credit_store::{AdmissionOutcome, CreditMismatch, CreditStore, TopUpOutcome};
pub use group_budget::GroupBudget;
pub use member_budget::MemberBudget;
pub use refusal::{BudgetRefusal, Gauge, Period};
pub(crate) use reservation::Charge;
pub use reservation::{ReservationGuard, ReservationLine, Settlement, SettlementSink};
pub use rolling::Buckets;
pub use settings::{CreditSettings, FreeTier};
pub use truncation_cause::TruncationCause;
pub use usage_hours::UsageHour;
pub use usage_range::{UsageRange, UsageRangeError};
pub use usage_report::UsageReport;
pub use usage_sums::{
    UsageCursor, UsageDetails, UsageGrouping, UsageSubject, UsageSum, UsageSums, UsageUsers,
};
pub use view::{CreditStock, CreditView, Credits, PoolStock, TopUpError, WeekGauge};
pub use week::Weeks;
pub use window::{Window, WindowKey, WindowKind};
pub use windows::{CallGrant, CreditWindows};
