// Passkeys on pages whose forms have `data-script`. Everything else works
// without a script.
"use strict";

(() => {
  const supported = window.PublicKeyCredential
    && PublicKeyCredential.parseRequestOptionsFromJSON
    && PublicKeyCredential.parseCreationOptionsFromJSON;

  function fill(form, name, value) {
    form.elements.namedItem(name).value = value;
  }

  async function challenge(form) {
    const response = await fetch(`${form.dataset.root}auth/webauthn/login/begin`, { method: "POST" });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response.json();
  }

  async function signIn(form, mediation, signal) {
    const { challengeToken, publicKey: options } = await challenge(form);
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey ?? options);
    const credential = await navigator.credentials.get({ publicKey, mediation, signal });
    fill(form, "challengeToken", challengeToken);
    fill(form, "credential", JSON.stringify(credential.toJSON()));
    form.submit();
  }

  async function create(form) {
    const options = JSON.parse(form.dataset.options);
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey ?? options);
    const credential = await navigator.credentials.create({ publicKey });
    fill(form, "credential", JSON.stringify(credential.toJSON()));
    form.submit();
  }

  for (const form of document.querySelectorAll("form[data-script]")) {
    const status = document.createElement("p");
    status.className = "fault";
    status.setAttribute("role", "status");
    form.append(status);
    if (!supported) {
      form.hidden = true;
      continue;
    }
    let waiting = new AbortController();
    const run = async (event) => {
      event.preventDefault();
      status.textContent = "";
      waiting.abort();
      try {
        await (form.dataset.script === "passkey-create" ? create(form) : signIn(form));
      } catch (error) {
        // Whoever closed the dialog knows it.
        if (error.name !== "NotAllowedError" && error.name !== "AbortError") {
          status.textContent = error.message;
        }
      }
    };
    form.addEventListener("submit", run);
    if (form.dataset.script === "passkey-get" && PublicKeyCredential.isConditionalMediationAvailable) {
      PublicKeyCredential.isConditionalMediationAvailable().then((available) => {
        if (available) signIn(form, "conditional", waiting.signal).catch(() => {});
      });
    }
  }
})();
