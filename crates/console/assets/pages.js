// Passkeys on pages whose forms have `data-script`. Everything else works
// without a script.
"use strict";

(() => {
  const supported = window.PublicKeyCredential
    && PublicKeyCredential.parseRequestOptionsFromJSON
    && PublicKeyCredential.parseCreationOptionsFromJSON;

  // Challenges expire after five minutes: autofill asks for a new one in time.
  const AUTOFILL_MILLISECONDS = 4 * 60 * 1000;

  // The server sends no challenge.
  class RefusedChallenge extends Error {
    constructor(status) {
      super();
      this.status = status;
    }
  }

  // Returns the message of an error in the language of the page.
  function message(form, error) {
    if (error.status === 429) return form.dataset.busy;
    // The authenticator has a passkey of this account.
    if (error.name === "InvalidStateError") return form.dataset.known;
    return form.dataset.failed;
  }

  function fill(form, name, value) {
    form.elements.namedItem(name).value = value;
  }

  async function challenge(form) {
    const response = await fetch(`${form.dataset.root}auth/webauthn/login/begin`, { method: "POST" });
    if (!response.ok) throw new RefusedChallenge(response.status);
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
    let autofill = new AbortController();
    const offer = async () => {
      const current = new AbortController();
      autofill = current;
      let expired = false;
      const timer = setTimeout(() => { expired = true; current.abort(); }, AUTOFILL_MILLISECONDS);
      await signIn(form, "conditional", current.signal).catch(() => {});
      clearTimeout(timer);
      if (expired) offer();
    };
    let canOffer = false;
    const run = async (event) => {
      event.preventDefault();
      status.textContent = "";
      autofill.abort();
      try {
        await (form.dataset.script === "passkey-create" ? create(form) : signIn(form));
      } catch (error) {
        // Whoever closed the dialog knows it.
        if (error.name !== "NotAllowedError" && error.name !== "AbortError") {
          status.textContent = message(form, error);
        }
        if (canOffer) offer();
      }
    };
    form.addEventListener("submit", run);
    if (form.dataset.script === "passkey-get" && PublicKeyCredential.isConditionalMediationAvailable) {
      PublicKeyCredential.isConditionalMediationAvailable().then((available) => {
        canOffer = available;
        if (available) offer();
      });
    }
  }
})();
