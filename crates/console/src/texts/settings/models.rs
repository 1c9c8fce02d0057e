//! Descriptions of the settings of models, which modes and catalogue entries share.

use crate::ui::Text;

/// Descriptions of the settings of models, which modes and catalogue entries share.
pub(super) const MODELS: &[(&str, Text)] = &[
    (
        "Ai:ProviderType",
        Text::new(
            "Type of the provider: OpenAI, AzureOpenAI, Ollama, OpenRouter, OpenAICompatible, \
             Mistral, VLlm or Anthropic.",
            "Art des Anbieters: OpenAI, AzureOpenAI, Ollama, OpenRouter, OpenAICompatible, \
             Mistral, VLlm oder Anthropic.",
        ),
    ),
    (
        "Ai:Providers:*:ProviderType",
        Text::new(
            "Type of the provider: OpenAI, AzureOpenAI, Ollama, OpenRouter, OpenAICompatible, \
             Mistral, VLlm, Anthropic, or Linkup for web search.",
            "Art des Anbieters: OpenAI, AzureOpenAI, Ollama, OpenRouter, OpenAICompatible, \
             Mistral, VLlm, Anthropic oder Linkup für Websuche.",
        ),
    ),
    (
        "Ai:Providers:*:Id",
        Text::new(
            "Unique id of the entry, by which groups, settings and logs refer to it, at most 100 \
             characters without a comma.",
            "Eindeutige ID des Eintrags, über die Gruppen, Einstellungen und Protokolle auf ihn \
             verweisen, höchstens 100 Zeichen ohne Komma.",
        ),
    ),
    (
        "Ai:Providers:*:Name",
        Text::new(
            "Name of the entry that people see when they choose a model.",
            "Name des Eintrags, der bei der Auswahl eines Modells angezeigt wird.",
        ),
    ),
    (
        "Ai:Providers:*:Embeddings",
        Text::new(
            "Makes this a model for embeddings, as knowledge needs it. It then does not answer \
             chats.",
            "Macht den Eintrag zu einem Embedding-Modell, wie es für Wissen gebraucht wird. Er \
             beantwortet dann keine Chats.",
        ),
    ),
    (
        "Ai:ApiKey",
        Text::new(
            "API key issued by the provider.",
            "API-Schlüssel, den der Anbieter ausgestellt hat.",
        ),
    ),
    (
        "Ai:ApiKeys",
        Text::new(
            "Further API keys that are equivalent to the first, separated by commas. The server \
             uses them in turn.",
            "Weitere gleichwertige API-Schlüssel, durch Kommas getrennt. Der Server nutzt sie \
             abwechselnd.",
        ),
    ),
    (
        "Ai:Model",
        Text::new(
            "Name of the model as the provider spells it, such as gpt-4o-mini.",
            "Name des Modells in der Schreibweise des Anbieters, etwa gpt-4o-mini.",
        ),
    ),
    (
        "Ai:Providers:*:Model",
        Text::new(
            "Name of the model as the provider spells it, such as gpt-4o-mini. For Linkup the \
             search depth: fast, standard or deep.",
            "Name des Modells in der Schreibweise des Anbieters, etwa gpt-4o-mini. Bei Linkup die \
             Suchtiefe: fast, standard oder deep.",
        ),
    ),
    (
        "Ai:Endpoint",
        Text::new(
            "Base URL of the provider’s API. Leave it empty for the provider’s public address; \
             servers of your own and Azure need it.",
            "Basis-URL der API des Anbieters. Ohne Angabe gilt seine öffentliche Adresse; eigene \
             Server und Azure brauchen die Angabe.",
        ),
    ),
    (
        "Ai:AzureDeploymentName",
        Text::new(
            "Name of the deployment in Azure OpenAI. Only for the type AzureOpenAI.",
            "Name des Deployments in Azure OpenAI. Nur für die Art AzureOpenAI.",
        ),
    ),
    (
        "Ai:AzureApiVersion",
        Text::new(
            "Version of the API of Azure OpenAI, a date such as 2025-01-01.",
            "Version der API von Azure OpenAI, ein Datum wie 2025-01-01.",
        ),
    ),
    (
        "Ai:MistralAgentId",
        Text::new(
            "Id of an agent at Mistral that answers in place of a model.",
            "ID eines Agenten bei Mistral, der anstelle eines Modells antwortet.",
        ),
    ),
    (
        "Ai:ReasoningEffort",
        Text::new(
            "How much the model thinks before it answers, unless a request states it: None, \
             Minimal, Low, Medium, High or XHigh. Leave it empty for the provider’s own choice.",
            "Denkaufwand des Modells, wenn eine Anfrage keinen nennt: None, Minimal, Low, Medium, \
             High oder XHigh. Ohne Angabe entscheidet der Anbieter.",
        ),
    ),
    (
        "Ai:SupportsReasoningEffort",
        Text::new(
            "States that an OpenAI-compatible server accepts a reasoning effort.",
            "Gibt an, dass ein OpenAI-kompatibler Server einen Denkaufwand akzeptiert.",
        ),
    ),
    (
        "Ai:EnableWebSearch",
        Text::new(
            "Lets the provider search the web for answers. OpenAI, OpenRouter, Mistral and \
             Anthropic support it.",
            "Lässt den Anbieter für Antworten im Web suchen. OpenAI, OpenRouter, Mistral und \
             Anthropic unterstützen das.",
        ),
    ),
    (
        "Ai:EnableVision",
        Text::new(
            "Passes images on to the model. Turn it off for models that cannot read images.",
            "Gibt Bilder an das Modell weiter. Schalten Sie das für Modelle aus, die keine Bilder \
             lesen können.",
        ),
    ),
    (
        "Ai:EnableAddresses",
        Text::new(
            "Lets requests link to images and files that the provider downloads. If it runs in \
             your network, it can then reach addresses there.",
            "Erlaubt in Anfragen Links auf Bilder und Dateien, die der Anbieter herunterlädt. \
             Läuft er in Ihrem Netz, erreicht er damit auch Adressen dort.",
        ),
    ),
    (
        "Ai:UpstreamTools",
        Text::new(
            "Tools of the provider that requests may use, with their prices in credits, separated \
             by commas, such as web_search=10.",
            "Werkzeuge des Anbieters, die Anfragen nutzen dürfen, mit ihren Preisen in Credits, \
             durch Kommas getrennt, etwa web_search=10.",
        ),
    ),
    (
        "Ai:UnsupportedParameters",
        Text::new(
            "Parameters that the model rejects: temperature, top_p or top_k, separated by commas. \
             They are removed from requests. Leave it empty to have them detected.",
            "Parameter, die das Modell ablehnt: temperature, top_p oder top_k, durch Kommas \
             getrennt. Sie werden aus Anfragen entfernt. Ohne Angabe werden sie selbsttätig \
             erkannt.",
        ),
    ),
    (
        "Ai:WebSearchToolProviderId",
        Text::new(
            "Id of the catalogue entry of type Linkup with which the model searches the web.",
            "ID des Katalogeintrags der Art Linkup, mit dem das Modell im Web sucht.",
        ),
    ),
    (
        "Ai:VisionToolProviderId",
        Text::new(
            "Id of the catalogue entry that describes images for a model that cannot read them \
             itself.",
            "ID des Katalogeintrags, der Bilder für ein Modell beschreibt, das sie nicht selbst \
             lesen kann.",
        ),
    ),
    (
        "Ai:Fallbacks",
        Text::new(
            "Ids of the catalogue entries that answer if the model cannot, in this order, \
             separated by commas.",
            "IDs der Katalogeinträge, die antworten, wenn das Modell es nicht kann, in dieser \
             Reihenfolge, durch Kommas getrennt.",
        ),
    ),
    (
        "Ai:CreditRates:InputPerMillion",
        Text::new(
            "Price of a million input tokens in credits, such as 500.",
            "Preis für eine Million Token der Eingabe in Credits, etwa 500.",
        ),
    ),
    (
        "Ai:CreditRates:OutputPerMillion",
        Text::new(
            "Price of a million output tokens in credits, such as 2000. Reasoning counts as \
             output.",
            "Preis für eine Million Token der Ausgabe in Credits, etwa 2000. Das Nachdenken des \
             Modells zählt als Ausgabe.",
        ),
    ),
    (
        "Ai:CreditRates:CachedInputPerMillion",
        Text::new(
            "Price in credits of a million input tokens that the provider read from its cache, \
             such as 100. At most the price of input.",
            "Preis in Credits für eine Million Token der Eingabe, die der Anbieter aus seinem \
             Cache gelesen hat, etwa 100. Höchstens der Preis der Eingabe.",
        ),
    ),
    (
        "Ai:CreditRates:ConnectorPerMillion",
        Text::new(
            "Price in credits of a million tokens that the provider’s own tools add, such as \
             results of a web search.",
            "Preis in Credits für eine Million Token, die Werkzeuge des Anbieters hinzufügen, etwa \
             Ergebnisse einer Websuche.",
        ),
    ),
    (
        "Ai:Protection:RequestsPerMinute",
        Text::new(
            "How many calls of the model may start in a minute, for all people together, such as \
             60. Use the limit of your contract with the provider.",
            "Anzahl der Aufrufe des Modells, die je Minute beginnen dürfen, für alle zusammen, \
             etwa 60. Richten Sie sich nach dem Limit Ihres Anbieters.",
        ),
    ),
    (
        "Ai:Protection:TokensPerMinute",
        Text::new(
            "How many tokens the model may process in a minute, input and output together, such as \
             200000.",
            "Anzahl der Token, die das Modell je Minute verarbeiten darf, Eingabe und Ausgabe \
             zusammen, etwa 200000.",
        ),
    ),
    (
        "Ai:Protection:MaxConcurrent",
        Text::new(
            "How many calls of the model may run at the same time, such as 20.",
            "Anzahl der Aufrufe des Modells, die gleichzeitig laufen dürfen, etwa 20.",
        ),
    ),
];
