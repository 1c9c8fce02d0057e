//! Sign-in with app passwords.

use super::*;

#[tokio::test]
async fn an_app_password_signs_in_without_a_hash_or_a_second_factor() {
    let world = World {
        app_password: Some(AppPasswordId::generate()),
        factor_on: true,
        ..World::with(StoredAccount::With("kept"), || Ok(Verdict::Wrong))
    };

    let (outcome, steps) = world.sign_in_with(ADDRESS, APP_PASSWORD).await;

    assert!(outcome.is_ok());
    assert_eq!(steps, [LOOK, "count", "look for app password", "clear"]);
}

#[tokio::test]
async fn a_wrong_app_password_takes_the_steps_of_any_wrong_one() {
    for (stored_account, note) in [
        (StoredAccount::With("kept"), "note somebody's wrong_password"),
        (StoredAccount::WithoutPassword, "note somebody's wrong_password"),
        (StoredAccount::NoAccount, "note nobody's wrong_password"),
    ] {
        let world = World::with(stored_account, || Ok(Verdict::Wrong));

        let (outcome, steps) = world.sign_in_with(ADDRESS, APP_PASSWORD).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)), "{stored_account:?}");
        let expected = [LOOK, "count", "look for app password", "verify", note];
        assert_eq!(steps, expected, "{stored_account:?}");
    }
}

#[tokio::test]
async fn an_app_password_requires_an_account_and_no_browser() {
    let browser = World {
        app_password: Some(AppPasswordId::generate()),
        program: Program::Browser,
        ..World::with(StoredAccount::With("kept"), || Ok(Verdict::Wrong))
    };
    let without_account = World {
        app_password: Some(AppPasswordId::generate()),
        ..World::with(StoredAccount::NoAccount, || Ok(Verdict::Wrong))
    };

    let (in_browser, steps) = browser.sign_in_with(ADDRESS, APP_PASSWORD).await;
    let (no_account, _) = without_account.sign_in_with(ADDRESS, APP_PASSWORD).await;

    assert!(matches!(in_browser, Err(SignInError::WrongCredentials)));
    let note = "note somebody's wrong_password";
    assert_eq!(steps, [LOOK, "count", "verify", note]);
    assert!(matches!(no_account, Err(SignInError::WrongCredentials)));
}

#[tokio::test]
async fn a_password_in_the_form_of_an_app_password_is_accepted() {
    let world = World::with(StoredAccount::With("kept"), || Ok(Verdict::Right));

    let (outcome, _) = world.sign_in_with(ADDRESS, APP_PASSWORD).await;

    assert!(outcome.is_ok());
}
