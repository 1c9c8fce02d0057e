// Runs workflows of three steps on Restate, and prints how many end in a second once
// all wait.
//
// Usage: restate_peer.mjs FOLDER RUNS WORKERS
// In FOLDER the packages @restatedev/restate-server and @restatedev/restate-sdk are
// installed.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http2";
import { createRequire } from "node:module";
import { createServer as createSocket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [folder, runs, workers] = process.argv.slice(-3);
const require = createRequire(join(resolve(folder), "package.json"));
const restate = require("@restatedev/restate-sdk");

// Runs wait for it in the server's queue, all but those of the workers.
let open;
const gate = new Promise((resolve) => (open = resolve));

const brief = restate.service({
  name: "brief",
  handlers: {
    run: async (context, number) => {
      await gate;
      const outputs = [];
      for (let step = 0; step < 3; step += 1) {
        outputs.push(await context.run(() => `The move is on Friday (${number}).`));
      }
      return outputs.join(" ");
    },
  },
});

function listening(server) {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server.address().port));
  });
}

async function freePort() {
  const server = createSocket();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function post(url, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function registered(admin, uri) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await post(`${admin}/deployments`, { uri });
    } catch (error) {
      if (attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function inParallel(items, work) {
  const rest = items.entries();
  const results = [];
  const loop = async () => {
    for (const [at, item] of rest) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: 32 }, loop));
  return results;
}

const service = createServer(restate.createEndpointHandler({ services: [brief], logger: () => {} }));
const uri = `http://127.0.0.1:${await listening(service)}`;
const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
const data = await mkdtemp(join(tmpdir(), "restate-"));
const server = spawn(join(folder, "node_modules/.bin/restate-server"), ["--base-dir", data], {
  env: {
    ...process.env,
    DO_NOT_TRACK: "1",
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    // The limit is one of each partition.
    RESTATE_DEFAULT_NUM_PARTITIONS: "1",
    RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT: workers,
  },
  stdio: "ignore",
});
try {
  await registered(`http://127.0.0.1:${admin}`, uri);
  const at = `http://127.0.0.1:${ingress}`;
  const numbers = Array.from({ length: Number(runs) }, (_, number) => number);
  const sent = await inParallel(numbers, (number) => post(`${at}/brief/run/send`, number));
  const begun = performance.now();
  open();
  await inParallel(sent, async ({ invocationId }) => {
    const response = await fetch(`${at}/restate/invocation/${invocationId}/attach`);
    if (!response.ok) throw new Error(`a run: ${response.status}`);
    await response.text();
  });
  console.log((Number(runs) / (performance.now() - begun)) * 1000);
} finally {
  server.kill();
  await new Promise((resolve) => server.on("exit", resolve));
  await rm(data, { recursive: true, force: true });
}
process.exit();
