//! Tests of device approval.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::devices::ONBOARDING_TTL;
use crate::fakes::{Ada, Machine, text};

/// User with an active device, and a pending one with its onboarding session.
struct PendingDevice {
    ada: Ada,
    approver: Machine,
    phone: Machine,
    session: String,
}

async fn pending_device() -> PendingDevice {
    let (ada, approver) = Ada::encrypted().await;
    let phone = Machine::new("second");
    let session = ada.register(&phone).await.onboarding;
    ada.actions();
    PendingDevice { ada, approver, phone, session }
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
    for (version, stored_version) in [(None, 1), (Some(1), 1), (Some(2), 2)] {
        let PendingDevice { ada, approver, phone, session } = pending_device().await;
        let form = approval_form(&approver, &phone, &session, version);

        ada.devices.approve(ada.user, form.clone()).await.unwrap();
        let repetition = ada.devices.approve(ada.user, form.clone()).await;

        let key = ada.devices.key_of(ada.user, &phone.id).await.unwrap();
        let approval = key.approved.unwrap();
        assert_eq!(approval.version, stored_version);
        assert_eq!(approval.onboarding, session);
        assert_eq!(Some(approval.signature), form.approver_signature);
        assert_eq!(Some(key.ciphertext), form.wrapped_umk);
        assert_eq!(key.created_by, approver.id);
        assert!(matches!(repetition, Err(ApproveError::NotPending)));
        assert_eq!(ada.actions(), ["device.approved", "device-approved"]);
    }
}

#[tokio::test]
async fn a_signature_of_any_other_payload_is_refused() {
    let PendingDevice { ada, approver, phone, session } = pending_device().await;
    let valid = approval_form(&approver, &phone, &session, Some(2));
    let by_stranger = approval_form(&Machine::new("first"), &phone, &session, Some(2));
    let of_version_1 = ApprovalForm { signature_version: Some(1), ..valid.clone() };
    let of_other_key = ApprovalForm { wrapped_umk: Some(text(7, 60)), ..valid.clone() };
    let of_other_salt = ApprovalForm { hkdf_salt: Some(text(7, 32)), ..valid.clone() };
    let with_zeros = ApprovalForm { approver_signature: Some(STANDARD.encode([0; 64])), ..valid };

    for form in [by_stranger, of_version_1, of_other_key, of_other_salt, with_zeros] {
        let outcome = ada.devices.approve(ada.user, form).await;
        assert!(matches!(outcome, Err(ApproveError::Signature)));
    }
    assert_eq!(ada.actions(), [""; 0]);
}

#[tokio::test]
async fn only_an_active_device_approves_others() {
    let PendingDevice { ada, approver, phone, session } = pending_device().await;
    let form_by_itself = approval_form(&phone, &phone, &session, Some(2));
    let form_by_unknown = approval_form(&Machine::new("nobody"), &phone, &session, Some(2));
    let form_by_revoked = approval_form(&approver, &phone, &session, Some(2));

    let by_itself = ada.devices.approve(ada.user, form_by_itself).await;
    let by_unknown = ada.devices.approve(ada.user, form_by_unknown).await;
    ada.devices.revoke(ada.user, &approver.id).await.unwrap();
    let by_revoked = ada.devices.approve(ada.user, form_by_revoked).await;

    for outcome in [by_itself, by_unknown, by_revoked] {
        assert!(matches!(outcome, Err(ApproveError::NotActive)));
    }
}

#[tokio::test]
async fn an_onboarding_session_is_bound_to_its_device_and_expires() {
    let PendingDevice { ada, approver, phone, session } = pending_device().await;
    let tablet = Machine::new("third");
    let session_of_tablet = ada.register(&tablet).await.onboarding;

    let with_session_of_tablet = ada
        .devices
        .approve(ada.user, approval_form(&approver, &phone, &session_of_tablet, None))
        .await;
    let new_session = ada.register(&phone).await.onboarding;
    let with_replaced_session =
        ada.devices.approve(ada.user, approval_form(&approver, &phone, &session, None)).await;
    ada.clock.advance(ONBOARDING_TTL);
    let with_expired_session =
        ada.devices.approve(ada.user, approval_form(&approver, &phone, &new_session, None)).await;
    let form_of_unknown = approval_form(&approver, &Machine::new("unknown"), &session, None);
    let of_unknown = ada.devices.approve(ada.user, form_of_unknown).await;

    for outcome in [with_session_of_tablet, with_replaced_session, with_expired_session] {
        assert!(matches!(outcome, Err(ApproveError::Onboarding)));
    }
    assert!(matches!(of_unknown, Err(ApproveError::Unknown)));
}

#[tokio::test]
async fn an_unknown_version_is_reported_for_its_field() {
    let PendingDevice { ada, approver, phone, session } = pending_device().await;

    for version in [0, 3, -1] {
        let form = ApprovalForm {
            signature_version: Some(version),
            ..approval_form(&approver, &phone, &session, Some(2))
        };
        let outcome = ada.devices.approve(ada.user, form).await;
        let Err(ApproveError::Invalid(violations)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(violations[0].field, "signatureVersion");
        assert_eq!(violations[0].code, "unknown_version");
    }
}
