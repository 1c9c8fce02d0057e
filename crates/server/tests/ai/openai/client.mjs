// The official OpenAI client for Node.js, unmodified, before a running server.
// The last version that runs on the Node.js which distributions have.
//
// Usage: node client.mjs CASE... with OPENAI_MODULES, PIA_BASE_URL and
// PIA_API_KEY. Each case prints "ok NAME", or ends the process with what it
// found wrong.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${process.env.OPENAI_MODULES}/package.json`));
const OpenAI = require('openai').default;

const options = { baseURL: process.env.PIA_BASE_URL, maxRetries: 0, timeout: 20_000 };
const client = new OpenAI({ ...options, apiKey: process.env.PIA_API_KEY });
// The server has a model of its own and does not read this one.
const model = 'any';

const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Tells the weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    },
  },
};

const said = (text) => [{ role: 'user', content: text }];
const forBern = 'use the tool weather Bern';

const cases = {
  async lists_models() {
    const ids = [];
    for await (const it of client.models.list()) ids.push(it.id);
    assert.deepEqual(ids, ['pia-cloud']);
  },

  async chat() {
    const answer = await client.chat.completions.create({
      model, messages: said('good day'), temperature: 0.5, max_tokens: 20,
    });
    assert.equal(answer.object, 'chat.completion');
    assert.equal(answer.model, 'test-model');
    assert.equal(answer.choices[0].message.content, 'Demo answer to: good day');
    assert.equal(answer.choices[0].finish_reason, 'stop');
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage;
    assert.deepEqual([prompt_tokens, completion_tokens, total_tokens], [2, 5, 7]);
  },

  async stream() {
    const stream = await client.chat.completions.create({
      model, messages: said('good day'), stream: true, stream_options: { include_usage: true },
    });
    let text = '';
    const [reasons, totals] = [[], []];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
      if (chunk.usage) totals.push(chunk.usage.total_tokens);
    }
    assert.equal(text, 'Demo answer to: good day');
    assert.deepEqual([reasons, totals], [['stop'], [7]]);
  },

  async tools() {
    const answer = await client.chat.completions.create({
      model, messages: said(forBern), tools: [weather], tool_choice: 'auto',
    });
    assert.equal(answer.choices[0].finish_reason, 'tool_calls');
    const { message } = answer.choices[0];
    const [call] = message.tool_calls;
    assert.deepEqual(call.function, { name: 'weather', arguments: '{"city":"Bern"}' });

    const result = { role: 'tool', tool_call_id: call.id, content: 'rain' };
    const told = await client.chat.completions.create({
      model, messages: [...said(forBern), message, result], tools: [weather],
    });
    assert.equal(told.choices[0].message.content, 'The tool said: rain');
  },

  // Puts the call together from its pieces, and refuses a stream that breaks
  // OpenAI's order.
  async streamed_tools() {
    const stream = client.chat.completions.stream({ model, messages: said(forBern), tools: [weather] });
    const answer = await stream.finalChatCompletion();
    assert.equal(answer.choices[0].finish_reason, 'tool_calls');
    const [call] = answer.choices[0].message.tool_calls;
    assert.ok(call.id);
    assert.equal(call.function.name, 'weather');
    assert.equal(call.function.arguments, '{"city":"Bern"}');
  },

  // Calls the function that it was given, and tells what that said.
  async runs_tools() {
    const asked = [];
    const tell = ({ city }) => {
      asked.push(city);
      return 'rain';
    };
    const told = { ...weather.function, function: tell, parse: JSON.parse };
    const runner = client.chat.completions.runTools({
      model, stream: true, messages: said(forBern), tools: [{ type: 'function', function: told }],
    });
    assert.equal(await runner.finalContent(), 'The tool said: rain');
    assert.deepEqual(asked, ['Bern']);
  },

  async leaves_a_stream() {
    const stream = await client.chat.completions.create({
      model, messages: said('demo:slow=50 demo:chunks=1000 Hello'), stream: true,
    });
    for await (const _ of stream) break;
    stream.controller.abort();
  },

  async wrong_key() {
    const stranger = new OpenAI({ ...options, apiKey: 'pia_wrong' });
    const call = stranger.chat.completions.create({ model, messages: said('good day') });
    await assert.rejects(call, (err) => err instanceof OpenAI.AuthenticationError
      && err.error === 'unauthorized');
  },

  async upstream_failed() {
    for (const stream of [false, true]) {
      const messages = said('demo:status=500');
      const call = client.chat.completions.create({ model, messages, stream });
      await assert.rejects(call, (err) => err instanceof OpenAI.InternalServerError
        && err.status === 502 && Boolean(err.requestID));
    }
  },
};

for (const name of process.argv.slice(2)) {
  await cases[name]();
  console.log('ok', name);
}
