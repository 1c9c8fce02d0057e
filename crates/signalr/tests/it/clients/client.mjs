// The official SignalR client for Node.js, unmodified, before a running hub.
//
// Usage: node client.mjs CASE... with SIGNALR_MODULES, SIGNALR_URL,
// SIGNALR_TOKEN and SIGNALR_PROTOCOL. Each case prints "ok NAME", or ends the
// process with what it found wrong.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${process.env.SIGNALR_MODULES}/package.json`));
const signalr = require('@microsoft/signalr');
const { MessagePackHubProtocol } = require('@microsoft/signalr-protocol-msgpack');

const token = process.env.SIGNALR_TOKEN;
const isBinary = process.env.SIGNALR_PROTOCOL === 'messagepack';

// Builder of connections with the encoding that is tried.
function builder({ hub = 'hub', query = '', ...options } = {}) {
  const protocol = isBinary ? new MessagePackHubProtocol() : new signalr.JsonHubProtocol();
  return new signalr.HubConnectionBuilder()
    .withUrl(`${process.env.SIGNALR_URL}/${hub}${query}`, {
      accessTokenFactory: () => token,
      transport: signalr.HttpTransportType.WebSockets,
      ...options,
    })
    .withHubProtocol(protocol)
    .configureLogging(signalr.LogLevel.None);
}

// Runs an action with a connection, which must stop without an error.
async function connected(action, connection = builder().build()) {
  await connection.start();
  await action(connection);
  const closed = new Promise((resolve) => { connection.onclose(resolve); });
  await connection.stop();
  assert.equal(await closed, undefined);
}

// Items of a stream, and the error that it ended with.
function collect(stream) {
  return new Promise((resolve) => {
    const items = [];
    stream.subscribe({
      next: (item) => items.push(item),
      complete: () => resolve({ items }),
      error: (error) => resolve({ items, error: error.message }),
    });
  });
}

const noted = (connection) => new Promise((resolve) => { connection.on('noted', resolve); });

const cases = {
  async invokes() {
    await connected(async (it) => {
      const value = { text: 'Grüße \u{1e}', list: [1, -2.5, null, true, {}], big: 2 ** 40 };
      assert.deepEqual(await it.invoke('Echo', value), value);
      assert.deepEqual(await it.invoke('Arguments', 1, 'two', [3]), [1, 'two', [3]]);
      assert.ok((await it.invoke('Void')) == null);
      const long = 'x'.repeat(200_000);
      assert.equal(await it.invoke('Echo', long), long);
      const many = Array.from({ length: 200 }, (_, number) => it.invoke('Echo', number));
      assert.deepEqual(await Promise.all(many), many.map((_, number) => number));
    });
  },

  async sends() {
    await connected(async (it) => {
      const answer = noted(it);
      await it.send('Note', 'down');
      assert.equal(await answer, 'down');
    });
  },

  async binary_values() {
    await connected(async (it) => {
      if (!isBinary) return;
      assert.equal(await it.invoke('Echo', new Uint8Array([0, 1, 2])), 'AAEC');
      const date = new Date('2026-01-02T03:04:05.678Z');
      assert.equal(await it.invoke('Echo', date), '2026-01-02T03:04:05.678Z');
    });
  },

  async errors() {
    await connected(async (it) => {
      await assert.rejects(it.invoke('Fail'), /it failed/);
      await assert.rejects(it.invoke('Unknown'), /no such method/);
      assert.equal(await it.invoke('Echo', 1), 1);
    });
  },

  async client_results() {
    await connected(async (it) => {
      it.on('question', async (number) => number * 2);
      assert.equal(await it.invoke('Ask', 21), 42);
    });
    await connected(async (it) => {
      it.on('question', async () => { throw new Error('no idea'); });
      await assert.rejects(it.invoke('Ask', 21), /no idea/);
    });
    await connected(async (it) => {
      await assert.rejects(it.invoke('Ask', 21), /provide a result/);
    });
  },

  async streams() {
    await connected(async (it) => {
      assert.deepEqual(await collect(it.stream('Count', 4)), { items: [0, 1, 2, 3] });
      const { items, error } = await collect(it.stream('BreakOff'));
      assert.deepEqual(items, ['first']);
      assert.match(error, /it broke off/);
    });
  },

  async streams_more_than_the_buffer() {
    await connected(async (it) => {
      const { items } = await collect(it.stream('Count', 10_000));
      assert.deepEqual([items.length, items.at(-1)], [10_000, 9_999]);
    });
  },

  async cancels_a_stream() {
    await connected(async (it) => {
      const canceled = new Promise((resolve) => { it.on('canceled', resolve); });
      await new Promise((resolve) => {
        const subscription = it.stream('Endless').subscribe({
          next: () => { subscription.dispose(); resolve(); },
          error: resolve,
        });
      });
      await canceled;
      assert.equal(await it.invoke('Echo', 1), 1);
    });
  },

  async uploads() {
    await connected(async (it) => {
      const numbers = new signalr.Subject();
      const sum = it.invoke('Sum', numbers);
      for (const number of [1, 2, 3]) numbers.next(number);
      numbers.complete();
      assert.equal(await sum, 6);

      const broken = new signalr.Subject();
      const failed = it.invoke('Sum', broken);
      broken.next(1);
      broken.error(new Error('cut'));
      await assert.rejects(failed, /cut/);

      const echoed = new signalr.Subject();
      const echo = collect(it.stream('EchoStream', echoed));
      for (const item of ['a', 'b']) echoed.next(item);
      echoed.complete();
      assert.deepEqual(await echo, { items: ['a', 'b'] });
    });
  },

  async stays_connected_while_idle() {
    const connection = builder({ hub: 'impatient' })
      .withKeepAliveInterval(300)
      .withServerTimeout(4000)
      .build();
    await connected((it) => it.invoke('Wait', 6000), connection);
  },

  async is_disconnected_when_silent() {
    const connection = builder({ hub: 'impatient' }).build();
    const closed = new Promise((resolve) => { connection.onclose(resolve); });
    await connection.start();
    assert.match((await closed).message, /the client is silent/);
  },

  async needs_no_negotiation() {
    const connection = builder({ skipNegotiation: true }).build();
    await connected(async (it) => assert.equal(await it.invoke('Echo', 1), 1), connection);
  },

  async token_in_the_query() {
    const query = `?access_token=${encodeURIComponent(token)}`;
    const connection = builder({ query, accessTokenFactory: undefined }).build();
    await connected(async (it) => assert.equal(await it.invoke('Echo', 1), 1), connection);
  },

  async no_token() {
    const connection = builder({ accessTokenFactory: undefined }).build();
    await assert.rejects(connection.start(), /401/);
  },

  async is_expelled() {
    const connection = builder().withAutomaticReconnect([0, 0]).build();
    const closed = new Promise((resolve) => { connection.onclose(resolve); });
    await connection.start();
    await assert.rejects(connection.invoke('Expel'));
    assert.match((await closed).message, /expelled/);
  },

  async sends_too_much() {
    const connection = builder().build();
    const closed = new Promise((resolve) => { connection.onclose(resolve); });
    await connection.start();
    await assert.rejects(connection.invoke('Echo', 'x'.repeat(300_000)));
    assert.match((await closed).message, /the message is too large/);
  },

  async reconnects() {
    for (const method of ['Restart', 'Drop']) {
      const connection = builder().withAutomaticReconnect([0, 100, 1000]).build();
      const reconnected = new Promise((resolve) => { connection.onreconnected(resolve); });
      await connection.start();
      const id = connection.connectionId;
      await assert.rejects(connection.invoke(method, 1), undefined, method);
      assert.notEqual(await reconnected, id);
      assert.equal(await connection.invoke('Echo', 1), 1);
      await connection.stop();
    }
  },

  async resumes() {
    const connection = builder().withStatefulReconnect().build();
    connection.onreconnecting(() => assert.fail('reconnects without its state'));
    const answers = [];
    connection.on('noted', (number) => answers.push(number));
    await connected(async (it) => {
      const id = it.connectionId;
      for (let number = 0; number < 5; number += 1) {
        const sent = it.send('Note', number);
        assert.equal(await it.invoke('Drop', number), number);
        await sent;
      }
      assert.equal(await it.invoke('Echo', 'x'), 'x');
      assert.equal(it.connectionId, id);
      assert.deepEqual(answers, [0, 1, 2, 3, 4]);
    }, connection);
  },

  async reconnects_if_it_cannot_resume() {
    const connection = builder().withStatefulReconnect().withAutomaticReconnect([0, 100]).build();
    const reconnected = new Promise((resolve) => { connection.onreconnected(resolve); });
    await connection.start();
    const id = connection.connectionId;
    await assert.rejects(connection.invoke('Forget'));
    assert.notEqual(await reconnected, id);
    assert.equal(await connection.invoke('Echo', 1), 1);
    await connection.stop();
  },

  // Messages that exceed the client's buffer are sent only once it is freed.
  async frees_the_buffer_of_the_client() {
    const connection = builder().withStatefulReconnect({ bufferSize: 1000 }).build();
    await connected(async (it) => {
      for (let number = 0; number < 3; number += 1) {
        const answer = noted(it);
        await it.send('Note', 'x'.repeat(600));
        await answer;
      }
    }, connection);
  },
};

for (const name of process.argv.slice(2)) {
  await cases[name]();
  console.log(`ok ${name}`);
}
// Timers of the client delay the end otherwise.
process.exit(0);
