//! What may be spent: windows, reservations, and what is told of them.

mod ask;
mod bank;
mod books;
mod hold;
mod refusal;
mod rolling;
mod settings;
mod shortage;
mod view;
mod week;
mod window;

pub use ask::{Ask, Holder};
#[cfg(feature = "mock")]
pub use bank::MockBank;
pub use bank::{Admission, Bank, Mismatch};
pub use books::{Books, Grant};
pub(crate) use hold::Charge;
pub use hold::{Hold, Part, Settlement, Settles};
pub use refusal::{BudgetRefusal, Gauge, Period};
pub use rolling::Buckets;
pub use settings::{CreditSettings, FreeTier};
pub use shortage::Shortage;
pub use view::{CreditView, Credits, Stock, WeekGauge};
pub use week::Weeks;
pub use window::{Kind, Window, WindowKey};
