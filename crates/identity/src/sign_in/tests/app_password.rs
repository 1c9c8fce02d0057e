//! Sign-in with app passwords.

use super::*;

#[tokio::test]
async fn an_app_password_signs_in_without_a_hash_or_a_second_factor() {
    let world = World {
        app_password: Some(AppPasswordId::generate()),
        factor_on: true,
        ..World::with(Found::With("kept"), || Ok(Verdict::Wrong))
    };

    let (outcome, steps) = world.sign_in_with(ADDRESS, APP_PASSWORD).await;

    assert!(outcome.is_ok());
    assert_eq!(steps, [LOOK, "count", "look for app password", "clear"]);
}

#[tokio::test]
async fn a_wrong_app_password_takes_the_steps_of_any_wrong_one() {
    for (found, note) in [
        (Found::With("kept"), "note somebody's wrong_password"),
        (Found::WithoutPassword, "note somebody's wrong_password"),
        (Found::NoAccount, "note nobody's wrong_password"),
    ] {
        let world = World::with(found, || Ok(Verdict::Wrong));

        let (outcome, steps) = world.sign_in_with(ADDRESS, APP_PASSWORD).await;

        assert!(matches!(outcome, Err(SignInError::WrongCredentials)), "{found:?}");
        let expected = [LOOK, "count", "look for app password", "verify", note];
        assert_eq!(steps, expected, "{found:?}");
    }
}

#[tokio::test]
async fn an_app_password_requires_an_account_and_no_browser() {
    let browser = World {
        app_password: Some(AppPasswordId::generate()),
        program: Program::Browser,
        ..World::with(Found::With("kept"), || Ok(Verdict::Wrong))
    };
    let without_account = World {
        app_password: Some(AppPasswordId::generate()),
        ..World::with(Found::NoAccount, || Ok(Verdict::Wrong))
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
    let world = World::with(Found::With("kept"), || Ok(Verdict::Right));

    let (outcome, _) = world.sign_in_with(ADDRESS, APP_PASSWORD).await;

    assert!(outcome.is_ok());
}
