//! Tests of the settings of knowledge bases.

use super::*;

/// Settings of an embedding model.
const EMBEDDER: [&str; 4] = [
    "Ai:Providers:0:Id=vectors",
    "Ai:Providers:0:Model=m",
    "Ai:Providers:0:ApiKey=k",
    "Ai:Providers:0:Embeddings=true",
];

#[test]
fn development_has_an_embedded_store_and_a_local_embedder() {
    let operator = Operator::development();

    let stores = operator.read().knowledge.stores.unwrap();

    let VectorTarget::Embedded(folder) = stores.vectors else { panic!("{:?}", stores.vectors) };
    assert_eq!(folder, operator.sources.dir.join("vectors"));
    assert!(matches!(stores.embedder, EmbedderConfig::Hashed));

    let operator = operator.variable("Knowledge__ConnectionString", "");

    assert!(operator.read().knowledge.stores.is_none());
}

#[test]
fn production_has_none_until_both_are_configured() {
    let with_store =
        || Operator::production().argument("Knowledge:ConnectionString=http://qdrant:6334");
    let with_both = with_store().arguments(&EMBEDDER).argument("Embeddings:ProviderId=VECTORS");

    assert!(Operator::production().read().knowledge.stores.is_none());
    assert!(with_store().read().knowledge.stores.is_none());
    assert!(with_store().notices().iter().any(|it| it.contains("knowledge is off")));

    let stores = with_both.read().knowledge.stores.unwrap();

    assert!(matches!(stores.vectors, VectorTarget::Server { .. }));
    let EmbedderConfig::Provider { target, .. } = stores.embedder else {
        panic!("{:?}", stores.embedder)
    };
    assert_eq!(target.model.as_str(), "bge-m3");
    assert_eq!(stores.timeout.as_secs(), 100);
    assert!(stores.context.is_none());
}

#[test]
fn contexts_are_written_by_a_chat_model_unless_switched_off() {
    let operator = || {
        Operator::development()
            .arguments(&["Ai:Providers:0:Id=talker", "Ai:Providers:0:Model=m"])
            .argument("Ai:Providers:0:ApiKey=k")
            .argument("Chunking:Context:ProviderId=Talker")
    };
    let context = |it: Operator| it.read().knowledge.stores.unwrap().context;

    assert_eq!(context(operator()).unwrap().model, "m");
    assert!(context(operator().argument("Chunking:Context:Enabled=false")).is_none());
}

#[test]
fn questions_are_stored_only_if_the_operator_wants_that() {
    assert!(!Operator::development().read().knowledge.unanswered_questions);
    let on = Operator::production().argument("Knowledge:UnansweredQuestions=true");
    assert!(on.read().knowledge.unanswered_questions);
}

#[test]
fn questions_are_rewritten_by_a_chat_model_only() {
    let chat_model =
        ["Ai:Providers:0:Id=vectors", "Ai:Providers:0:Model=m", "Ai:Providers:0:ApiKey=k"];
    let operator_with = |model: &[&str]| {
        Operator::development().arguments(model).argument("Knowledge:Question:ProviderId=vectors")
    };

    let question_model = operator_with(&chat_model).read().knowledge.question_model.unwrap();

    assert_eq!(question_model.target.model, "m");
    assert_eq!(question_model.timeout.as_secs(), 3);
    assert_eq!(operator_with(&EMBEDDER).errors().len(), 1);
}

#[test]
fn passages_are_ranked_by_the_model_of_an_entry_or_another_one_of_its_provider() {
    let operator = || Operator::development().arguments(&EMBEDDER);
    let with_entry = || operator().argument("Rerank:ProviderId=Vectors");
    let with_model =
        with_entry().arguments(&["Rerank:Model=bge-reranker-v2-m3", "Rerank:MinScore=0.1"]);
    let reranker = |it: Operator| it.read().knowledge.stores.unwrap().reranker;

    let reranker_of_entry = reranker(with_entry()).unwrap();

    assert!(reranker(operator()).is_none());
    assert_eq!(reranker_of_entry.target.model.as_str(), "m");
    assert_eq!(reranker_of_entry.timeout.as_secs(), 2);
    assert_eq!(with_model.read().knowledge.retrieval.min_rank_score, Some(0.1));
    assert_eq!(reranker(with_model).unwrap().target.model, "bge-reranker-v2-m3");
}

#[test]
fn another_dimension_turns_knowledge_off() {
    let operator = Operator::development().argument("Embeddings:Dimension=768");
    assert!(operator.read().knowledge.stores.is_none());
    assert!(operator.notices().iter().any(|it| it.contains("only 1024 is supported")));
}

#[test]
fn invalid_settings_are_refused() {
    for setting in [
        "Embeddings:ProviderId=nowhere",
        "Knowledge:IngestApiKey=short",
        "Knowledge:IngestApiKey=with blanks in the key",
        "Knowledge:Mode=Never",
        "Knowledge:MinSimilarity=1.5",
        "Chunking:OverlapChars=700",
        "Chunking:Context:ProviderId=nowhere",
        "Knowledge:Question:ProviderId=nowhere",
        "Knowledge:Question:TimeoutSeconds=31",
        "Rerank:ProviderId=nowhere",
        "Rerank:MinScore=2",
        "Rerank:TimeoutSeconds=5",
    ] {
        let errors = Operator::development().argument(setting).errors();
        let (key, _) = setting.split_once('=').unwrap();
        assert!(errors.len() == 1 && errors[0].contains(key), "{setting}: {errors:?}");
    }
}

#[test]
fn servers_are_parsed_with_and_without_a_key() {
    for text in [
        "http://qdrant:6334",
        "https://qdrant.example:6334/",
        "Endpoint=https://qdrant.example:6334;Key=s3cret==",
        "key = s3cret ; endpoint = http://[::1]:6334 ;",
    ] {
        let operator = Operator::development().variable("Knowledge__ConnectionString", text);
        let stores = operator.read().knowledge.stores.unwrap();
        assert!(matches!(stores.vectors, VectorTarget::Server { .. }), "{text}");
        assert!(!format!("{stores:?}").contains("s3cret"));
    }
}

#[test]
fn other_connection_strings_are_refused_without_being_repeated() {
    for text in [
        "embedded",
        "embedded: ",
        "qdrant:6334",
        "ftp=1",
        "Key=s3cret",
        "Endpoint=http://a:1;Endpoint=http://b:1",
        "Endpoint=http://a:1;Key=s3cret;Key=s3cret",
        "Endpoint=ftp://a:1",
        "http://",
        "http://a:1/path",
        "http://a:1?key=s3cret",
        "https://user:s3cret@a:1",
        "Endpoint=http://a:1;Key=",
        "Endpoint=http://a:1;Key=s3crét",
        "Endpoint=http://a:1;Key=s3 cret",
    ] {
        let operator = Operator::development().variable("Knowledge__ConnectionString", text);
        let errors = operator.errors();
        assert!(errors.len() == 1 && !errors[0].contains("s3cr"), "{text}: {errors:?}");
    }
}
