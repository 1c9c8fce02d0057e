//! Tests of budgets with random calls.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// Next step of a simulated caller.
#[derive(Debug, Clone)]
enum Step {
    /// Requests a call.
    Admit { fee: i64, prompt: i64, output: i64 },
    /// Ends one of the open calls with this usage.
    End { which: Index, input: i64, output: i64, reasoning: i64 },
    /// Advances the time.
    Wait { minutes: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0_i64..4_000_000, 0_i64..6_000, 1_i64..9_000)
            .prop_map(|(fee, prompt, output)| Step::Admit { fee, prompt, output }),
        3 => (any::<Index>(), 0_i64..20_000, 0_i64..20_000, 0_i64..3_000)
            .prop_map(|(which, input, output, reasoning)| Step::End {
                which, input, output, reasoning
            }),
        1 => (0_u64..90).prop_map(|minutes| Step::Wait { minutes }),
    ]
}

proptest! {
    /// Property: however many tokens upstreams count for prompts, and write beyond their caps,
    /// only hidden usage takes a budget beyond its limit.
    #[test]
    fn only_hidden_tokens_exceed_a_budget(steps in vec(step(), 1..60)) {
        let key = Some(ApiKeyBudget { key: ApiKeyId::generate(), weekly: 60 });
        let limits = CreditLimits {
            hourly: 30, daily: 40, weekly: 20, group_daily: 50, group_weekly: 70, pool: true,
        };
        let holder = CreditHolder { key, ..holder(limits) };
        let rates = Rates { input: 1_000_000, output: 3_000_000, connector: 7, ..Rates::default() };
        let mut credit_windows = credit_windows(&holder);
        window(&mut credit_windows, WindowKind::Pool).fill(Micros::credits(5));
        window(&mut credit_windows, WindowKind::TopUp).total = Micros::credits(20);
        let mut open = Vec::<(CallGrant, Micros)>::new();
        let mut hidden_cost = Micros(0);
        for step in steps {
            match step {
                Step::Admit { fee, prompt, output } => {
                    let fee = Micros(fee);
                    let request = AdmissionRequest { holder, rates, fee, prompt, output };
                    open.extend(credit_windows.admit(&request).map(|it| (it, fee)));
                }
                Step::End { which, input, output, reasoning } if !open.is_empty() => {
                    let (grant, fee) = open.swap_remove(which.index(open.len()));
                    let tokens = Usage { input, output, reasoning, ..Usage::default() };
                    let spent = Charge::new(&rates, &tokens, fee).amount_to_spend(&grant.lines);
                    prop_assert!(spent <= rates.price(&tokens).plus(fee));
                    hidden_cost = hidden_cost.plus(rates.price_of_hidden(&tokens));
                    credit_windows.settle(&grant.lines, spent, &grant.lines);
                }
                Step::End { .. } => {}
                Step::Wait { minutes } => {
                    credit_windows.now = credit_windows.now + Duration::from_mins(minutes);
                    for window in credit_windows.windows.values_mut() {
                        window.roll_over(Weeks::UTC, credit_windows.now);
                    }
                }
            }
            for window in credit_windows.windows.values() {
                let limit = holder.limit(window.key.kind).unwrap_or(window.total);
                let committed = window.committed_amount().minus(hidden_cost);
                prop_assert!(committed <= limit, "{window:?} of {limit:?}");
            }
        }
    }
}
