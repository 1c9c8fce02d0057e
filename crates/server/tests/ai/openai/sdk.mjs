// Vercel's AI SDK with its provider for compatible servers, unmodified, before
// a running server's /v1.
//
// Usage: node sdk.mjs with OPENAI_MODULES, PIA_BASE_URL, PIA_API_KEY, and
// PIA_SPENT_TOKEN, whose budget is used up. It prints "ok", or ends the process
// with what it found wrong.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${process.env.OPENAI_MODULES}/package.json`));
const { generateText, streamText } = require('ai');
const { createOpenAICompatible } = require('@ai-sdk/openai-compatible');
const OpenAI = require('openai').default;

const baseURL = process.env.PIA_BASE_URL;
const key = process.env.PIA_API_KEY;
const spentKey = process.env.PIA_SPENT_TOKEN;
const answer = 'Demo answer to: good day';
const failures = {
  notSignedIn: 'The access token is missing, invalid or expired: sign in.',
  noSuchModel: 'This model does not exist, or you may not use it.',
  spent: 'Your credits are used up until',
  upstreamFailed: 'The upstream AI provider could not answer the request.',
};
const broken = 'demo:error one two three';

async function shows(message, call) {
  await assert.rejects(call, (error) => {
    assert.ok(String(error.message ?? error).includes(message), `${message} is not in ${error}`);
    return true;
  });
}

function model(name = 'pia-cloud', apiKey = key) {
  return createOpenAICompatible({ name: 'pia', baseURL, apiKey })(name);
}

const asked = (name, apiKey, prompt = 'good day') =>
  ({ model: model(name, apiKey), prompt, maxRetries: 0 });

async function streamed(prompt) {
  let text = '';
  const parts = streamText({ ...asked(undefined, undefined, prompt), onError() {} }).fullStream;
  for await (const part of parts) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') text += part.text;
  }
  return text;
}

assert.equal((await generateText(asked())).text, answer);
assert.equal(await streamed('good day'), answer);
await shows(failures.notSignedIn, () => generateText(asked(undefined, 'wrong')));
await shows(failures.noSuchModel, () => generateText(asked('gpt-9')));
await shows(failures.spent, () => generateText(asked(undefined, spentKey)));
await shows(failures.upstreamFailed, () => streamed(broken));

const ask = (text, name = 'pia-cloud', apiKey = key, more = {}) =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 20_000 }).chat.completions.create({
    model: name, messages: [{ role: 'user', content: text }], ...more,
  });
assert.equal((await ask('good day')).choices[0].message.content, answer);
await shows(failures.notSignedIn, () => ask('good day', 'pia-cloud', 'wrong'));
await shows(failures.noSuchModel, () => ask('good day', 'gpt-9'));
await shows(failures.spent, () => ask('good day', 'pia-cloud', spentKey));
await shows(failures.upstreamFailed, async () => {
  for await (const _ of await ask(broken, 'pia-cloud', key, { stream: true }));
});
console.log('ok');
