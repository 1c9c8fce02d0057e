//! Sign-in with a second factor after the password.

use super::*;

#[tokio::test]
async fn a_second_factor_is_required_and_the_right_password_is_no_attempt() {
    let world = World {
        factor_on: true,
        ..World::with(StoredAccount::With("kept"), || Ok(Verdict::Right))
    };

    let (outcome, steps) = world.sign_in(ADDRESS).await;

    assert!(matches!(outcome, Err(SignInError::FactorNeeded { .. })), "{outcome:?}");
    assert_eq!(steps.last().map(String::as_str), Some("clear"));
}

#[tokio::test]
async fn no_second_factor_is_requested_after_a_wrong_password() {
    let world = World {
        factor_on: true,
        ..World::with(StoredAccount::With("kept"), || Ok(Verdict::Wrong))
    };

    let (outcome, _) = world.sign_in(ADDRESS).await;

    assert!(matches!(outcome, Err(SignInError::WrongCredentials)));
}

#[tokio::test]
async fn a_wrong_second_factor_is_recorded_for_its_account() {
    let steps = Steps::default();
    let world = World::with(StoredAccount::With("kept"), || Ok(Verdict::Right));
    let sign_in = World { factor_on: true, ..world }.build(&steps);
    let password = Secret::new("a perfectly fine passphrase".to_owned());
    let password_outcome = sign_in.local(ADDRESS, password, Program::App, device()).await;
    let Err(SignInError::FactorNeeded { challenge }) = password_outcome else {
        panic!("no challenge")
    };
    let answer = FactorAnswer::Code(Secret::new("nonsense".to_owned()));

    let refusal = sign_in.with_factor(&challenge, &answer, device()).await;

    assert!(matches!(refusal, Err(FactorSignInError::WrongCode)));
    let last = steps.lock().unwrap().last().cloned();
    assert_eq!(last.as_deref(), Some("note somebody's wrong_factor"));
}

#[tokio::test]
async fn a_second_factor_is_refused_after_the_password_was_changed() {
    for (started, accepted) in
        [(SessionStartOutcome::Done, true), (SessionStartOutcome::Stale, false)]
    {
        let world = World::with(StoredAccount::With("kept"), || Ok(Verdict::Right));
        let sign_in = World { factor_on: true, started, ..world }.build(&Steps::default());
        let password = Secret::new("a perfectly fine passphrase".to_owned());
        let password_outcome = sign_in.local(ADDRESS, password, Program::App, device()).await;
        let Err(SignInError::FactorNeeded { challenge }) = password_outcome else {
            panic!("no challenge")
        };
        let answer = FactorAnswer::RecoveryCode(Secret::new(RECOVERY.to_owned()));

        let outcome = sign_in.with_factor(&challenge, &answer, device()).await;

        assert_eq!(outcome.is_ok(), accepted, "{outcome:?}");
        assert_eq!(matches!(outcome, Err(FactorSignInError::Over)), !accepted);
    }
}
