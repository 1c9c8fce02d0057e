// Passkeys: reveals forms that have `data-script`, which work with it only.
// Errors in JSON while it is typed in fields that have `data-json`. Refreshes
// sections that have `data-live`, their interval in seconds. Disables the button of
// a form that is being sent. Everything else works without a script.
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
    form.hidden = !supported;
    if (!supported) continue;
    const status = document.createElement("p");
    status.className = "fault";
    status.setAttribute("role", "status");
    form.append(status);
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
    // Forms with `passkey-proof` may have fields to fill in first.
    if (form.dataset.script === "passkey-get" && PublicKeyCredential.isConditionalMediationAvailable) {
      PublicKeyCredential.isConditionalMediationAvailable().then((available) => {
        canOffer = available;
        if (available) offer();
      });
    }
  }
})();

(() => {
  const TYPING_MILLISECONDS = 400;
  const SPACE = /[ \t\n\r]*/y;
  const TOKEN = new RegExp([
    /[{}[\],:]/,
    /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/,
    /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/,
  ].map((it) => it.source).join("|"), "y");

  // Returns the index of the first syntax error in a JSON text, or -1. The
  // messages of browsers differ, and not all contain it.
  function errorIndex(text) {
    const closers = [];
    let expected = "value";
    let at = 0;
    for (;;) {
      SPACE.lastIndex = at;
      SPACE.exec(text);
      at = SPACE.lastIndex;
      if (expected === "end") return at === text.length ? -1 : at;
      TOKEN.lastIndex = at;
      const token = TOKEN.exec(text)?.[0];
      if (!token) return at;
      const closer = closers.at(-1);
      const mayClose = ["next", "first key", "first value"].includes(expected);
      if (mayClose && token === closer) {
        closers.pop();
        expected = closers.length > 0 ? "next" : "end";
      } else if (expected.endsWith("value") && token === "{") {
        closers.push("}");
        expected = "first key";
      } else if (expected.endsWith("value") && token === "[") {
        closers.push("]");
        expected = "first value";
      } else if (expected.endsWith("value") && !"]}:,".includes(token)) {
        expected = closers.length > 0 ? "next" : "end";
      } else if (expected.endsWith("key") && token.startsWith('"')) {
        expected = "colon";
      } else if (expected === "colon" && token === ":") {
        expected = "value";
      } else if (expected === "next" && token === ",") {
        expected = closer === "}" ? "key" : "value";
      } else {
        return at;
      }
      at = TOKEN.lastIndex;
    }
  }

  // Returns the message of a syntax error with its line and column.
  function errorText(field) {
    const at = field.value.trim() === "" ? -1 : errorIndex(field.value);
    if (at < 0) return "";
    const lines = field.value.slice(0, at).split("\n");
    const column = lines.at(-1).length + 1;
    return field.dataset.json.replace("{}", lines.length).replace("{}", column);
  }

  // Returns the server's error text of a field's value, which has no syntax
  // error. If it cannot be checked now, the form reports errors when it is sent.
  async function checkedText(field, signal) {
    if (!field.dataset.check) return "";
    const csrfToken = field.form.elements.namedItem("csrfToken").value;
    const body = new URLSearchParams({ csrfToken, [field.name]: field.value });
    const response = await fetch(field.dataset.check, { method: "POST", body, signal });
    return response.ok ? response.text() : "";
  }

  for (const field of document.querySelectorAll("textarea[data-json]")) {
    const status = document.createElement("p");
    status.className = "fault";
    status.id = `${field.id}-syntax`;
    status.setAttribute("role", "status");
    status.setAttribute("aria-live", "polite");
    field.after(status);
    const described = field.getAttribute("aria-describedby") ?? "";
    field.setAttribute("aria-describedby", `${described} ${status.id}`.trim());
    const display = (text) => {
      if (status.textContent !== text) status.textContent = text;
      field.setAttribute("aria-invalid", text !== "");
    };
    let timer = 0;
    let check = new AbortController();
    field.addEventListener("input", () => {
      clearTimeout(timer);
      check.abort();
      check = new AbortController();
      const { signal } = check;
      timer = setTimeout(async () => {
        const text = errorText(field) || await checkedText(field, signal).catch(() => "");
        if (!signal.aborted) display(text);
      }, TYPING_MILLISECONDS);
    });
  }
})();

(() => {
  const CHECK_MILLISECONDS = 1000;
  // Further requests would prolong the session of a person who has left.
  const UNUSED_MILLISECONDS = 5 * 60 * 1000;

  let lastUse = Date.now();
  for (const kind of ["keydown", "pointerdown", "pointermove", "wheel"]) {
    addEventListener(kind, () => { lastUse = Date.now(); }, { passive: true });
  }

  let lastRefresh = Date.now();

  const liveSections = () => [...document.querySelectorAll("section[data-live]")];

  // Returns whether the section with the shortest interval waits for a refresh.
  function isDue() {
    const seconds = Math.min(...liveSections().map((it) => Number(it.dataset.live)));
    return Date.now() - lastRefresh >= seconds * 1000;
  }

  // Returns whether a person has the focus, a selection, changed fields or an open
  // disclosure in a section.
  function isInUse(section) {
    const selection = getSelection();
    const isSelected = !selection.isCollapsed && selection.containsNode(section, true);
    const isEdited = [...section.querySelectorAll("input, option")].some((it) =>
      (it.value !== (it.defaultValue ?? it.value)) || (it.selected !== it.defaultSelected));
    const isOpen = section.querySelector("details[open]") !== null;
    return isSelected || isEdited || isOpen || section.contains(document.activeElement);
  }

  // Returns whether the page can be fetched: not after the session has ended, nor
  // the answer to a form, whose address is one for sending.
  async function refresh() {
    lastRefresh = Date.now();
    const response = await fetch(location.href, { redirect: "manual" });
    if (response.status !== 200) return false;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const section of liveSections()) {
      const current = page.getElementById(section.id);
      if (!current || isInUse(section)) continue;
      if (current.dataset.live) section.dataset.live = current.dataset.live;
      else delete section.dataset.live;
      if (section.innerHTML !== current.innerHTML) section.replaceChildren(...current.childNodes);
    }
    return true;
  }

  function schedule() {
    if (liveSections().length === 0) return;
    setTimeout(async () => {
      const isUsed = !document.hidden && Date.now() - lastUse < UNUSED_MILLISECONDS;
      if (!isUsed || !isDue() || await refresh().catch(() => true)) schedule();
    }, CHECK_MILLISECONDS);
  }

  schedule();
})();

(() => {
  // After this time a request that the person has stopped can be sent again.
  const SENDING_MILLISECONDS = 10 * 1000;

  function setSending(form, isSending) {
    for (const button of form.querySelectorAll("button[type=submit]")) button.disabled = isSending;
  }

  // A second click would create a second row, or add credits twice.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.getAttribute("method") !== "post") return;
    setSending(form, true);
    setTimeout(() => setSending(form, false), SENDING_MILLISECONDS);
  });

  // The browser may have stored the page as it was left.
  addEventListener("pageshow", () => {
    for (const form of document.forms) setSending(form, false);
  });
})();
