//! Tests of device approval.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::devices::ONBOARDING_TTL;
use crate::fakes::{Ada, Machine, text};

/// User with an active device, and a pending one with its onboarding session.
struct PendingDevice {
    ada: Ada,
    first: Machine,
    second: Machine,
    session: String,
}

async fn pending_device() -> PendingDevice {
    let (ada, first) = Ada::encrypted().await;
    let second = Machine::new("second");
    let session = ada.register(&second).await.onboarding;
    ada.actions();
    PendingDevice { ada, first, second, session }
}

fn approval_form(
    by: &Machine,
    target: &Machine,
    session: &str,
    version: Option<i64>,
) -> ApprovalForm {
    let key = target.form().agreement_public_key.unwrap();
    let wrapped = text(5, 60);
    let salt = text(6, 32);
    let id = target.id.as_str();
    let payload = match version {
        None | Some(1) => format!("{session}:{id}:{key}"),
        _ => format!("pia-approval-v2:{session}:{id}:{key}:{wrapped}:{salt}"),
    };
    ApprovalForm {
        onboarding_session_id: Some(session.to_owned()),
        target_device_id: Some(id.to_owned()),
        wrapped_umk: Some(wrapped),
        hkdf_salt: Some(salt),
        approver_signature: Some(by.sign(&payload)),
        signature_version: version,
        approver_device_id: Some(by.id.as_str().to_owned()),
    }
}

#[tokio::test]
async fn a_signed_approval_of_either_version_activates_a_device() {
    for (version, expected) in [(None, 1), (Some(1), 1), (Some(2), 2)] {
        let PendingDevice { ada, first, second, session } = pending_device().await;
        let form = approval_form(&first, &second, &session, version);

        ada.devices.approve(ada.user, form.clone()).await.unwrap();
        let again = ada.devices.approve(ada.user, form.clone()).await;

        let key = ada.devices.key_of(ada.user, &second.id).await.unwrap();
        let approved = key.approved.unwrap();
        assert_eq!(approved.version, expected);
        assert_eq!(approved.onboarding, session);
        assert_eq!(Some(approved.signature), form.approver_signature);
        assert_eq!(Some(key.ciphertext), form.wrapped_umk);
        assert_eq!(key.created_by, first.id);
        assert!(matches!(again, Err(ApproveError::NotPending)));
        assert_eq!(ada.actions(), ["device.approved", "device-approved"]);
    }
}

#[tokio::test]
async fn a_signature_of_any_other_payload_is_refused() {
    let PendingDevice { ada, first, second, session } = pending_device().await;
    let valid = approval_form(&first, &second, &session, Some(2));
    let stranger = approval_form(&Machine::new("first"), &second, &session, Some(2));
    let as_first = ApprovalForm { signature_version: Some(1), ..valid.clone() };
    let other_key = ApprovalForm { wrapped_umk: Some(text(7, 60)), ..valid.clone() };
    let other_salt = ApprovalForm { hkdf_salt: Some(text(7, 32)), ..valid.clone() };
    let empty = ApprovalForm { approver_signature: Some(STANDARD.encode([0; 64])), ..valid };

    for form in [stranger, as_first, other_key, other_salt, empty] {
        let refused = ada.devices.approve(ada.user, form).await;
        assert!(matches!(refused, Err(ApproveError::Signature)));
    }
    assert_eq!(ada.actions(), [""; 0]);
}

#[tokio::test]
async fn only_an_active_device_approves_others() {
    let PendingDevice { ada, first, second, session } = pending_device().await;
    let own = approval_form(&second, &second, &session, Some(2));
    let from_unknown = approval_form(&Machine::new("nobody"), &second, &session, Some(2));
    let late = approval_form(&first, &second, &session, Some(2));

    let by_itself = ada.devices.approve(ada.user, own).await;
    let by_unknown = ada.devices.approve(ada.user, from_unknown).await;
    ada.devices.revoke(ada.user, &first.id).await.unwrap();
    let by_revoked = ada.devices.approve(ada.user, late).await;

    for refused in [by_itself, by_unknown, by_revoked] {
        assert!(matches!(refused, Err(ApproveError::NotActive)));
    }
}

#[tokio::test]
async fn an_onboarding_session_is_bound_to_its_device_and_expires() {
    let PendingDevice { ada, first, second, session } = pending_device().await;
    let third = Machine::new("third");
    let thirds = ada.register(&third).await.onboarding;

    let swapped =
        ada.devices.approve(ada.user, approval_form(&first, &second, &thirds, None)).await;
    let renewed = ada.register(&second).await.onboarding;
    let spent = ada.devices.approve(ada.user, approval_form(&first, &second, &session, None)).await;
    ada.clock.advance(ONBOARDING_TTL);
    let late = ada.devices.approve(ada.user, approval_form(&first, &second, &renewed, None)).await;
    let form_of_unknown = approval_form(&first, &Machine::new("unknown"), &session, None);
    let unknown = ada.devices.approve(ada.user, form_of_unknown).await;

    for refused in [swapped, spent, late] {
        assert!(matches!(refused, Err(ApproveError::Onboarding)));
    }
    assert!(matches!(unknown, Err(ApproveError::Unknown)));
}

#[tokio::test]
async fn an_unknown_version_is_reported_for_its_field() {
    let PendingDevice { ada, first, second, session } = pending_device().await;

    for version in [0, 3, -1] {
        let form = ApprovalForm {
            signature_version: Some(version),
            ..approval_form(&first, &second, &session, Some(2))
        };
        let outcome = ada.devices.approve(ada.user, form).await;
        let Err(ApproveError::Invalid(violations)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(violations[0].field, "signatureVersion");
        assert_eq!(violations[0].code, "unknown_version");
    }
}
