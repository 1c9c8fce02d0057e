//! Tests of the setting.

use std::path::Path;

use pia_vectors::{VectorTarget, VectorTargetError};

#[test]
fn a_folder_is_parsed() {
    let target = VectorTarget::parse(" embedded:/var/lib/pia/vectors ").unwrap();
    let VectorTarget::Embedded(folder) = target else { panic!("a folder: {target:?}") };
    assert_eq!(folder, Path::new("/var/lib/pia/vectors"));
}

#[test]
fn servers_are_parsed_with_and_without_a_key() {
    for text in [
        "http://qdrant:6334",
        "https://qdrant.example:6334/",
        "Endpoint=https://qdrant.example:6334;Key=s3cret==",
        "key = s3cret ; endpoint = http://[::1]:6334 ;",
    ] {
        let target = VectorTarget::parse(text).unwrap();
        assert!(matches!(target, VectorTarget::Server(_)), "{text}");
        assert!(!format!("{target:?}").contains("s3cret"));
    }
}

#[test]
fn other_settings_are_rejected() {
    use VectorTargetError::{Endpoint, Folder, Form, Key};
    for (text, error) in [
        ("", Form),
        ("embedded", Form),
        ("embedded: ", Folder),
        ("qdrant:6334", Form),
        ("ftp=1", Form),
        ("Key=s3cret", Form),
        ("Endpoint=http://a:1;Endpoint=http://b:1", Form),
        ("Endpoint=http://a:1;Key=s3cret;Key=s3cret", Form),
        ("Endpoint=ftp://a:1", Endpoint),
        ("http://", Endpoint),
        ("http://a:1/path", Endpoint),
        ("http://a:1?key=s3cret", Endpoint),
        ("https://user:s3cret@a:1", Endpoint),
        ("Endpoint=http://a:1;Key=", Key),
        ("Endpoint=http://a:1;Key=s3crét", Key),
        ("Endpoint=http://a:1;Key=s3 cret", Key),
    ] {
        let err = VectorTarget::parse(text).unwrap_err();
        assert_eq!(err, error, "{text}");
        assert!(!err.to_string().contains("s3cr"));
    }
}
