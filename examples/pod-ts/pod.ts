// Pod with one tool: it connects to a server, describes itself and serves calls.
//
// Usage: PIA_SERVER=https://… PIA_POD_TOKEN=pia_pod_… npm start
import { createHash } from 'node:crypto';
import { HubConnectionBuilder, HubConnectionState, LogLevel } from '@microsoft/signalr';

interface Call {
  callId: string;
  tool: string;
  arguments: Record<string, unknown>;
  timeoutSeconds: number;
}

interface CallResult {
  content: unknown;
  isError?: boolean;
}

interface Tool {
  name: string;
  description: string;
  parameters: object;
  outputSchema?: object;
  idempotent?: boolean;
  call(args: Record<string, unknown>, signal: AbortSignal): unknown;
}

const tools: Tool[] = [{
  name: 'sha256',
  description: 'Returns the SHA-256 hash of a text, in hexadecimal digits.',
  parameters: {
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
  },
  outputSchema: { type: 'string' },
  idempotent: true,
  call({ text }) {
    if (typeof text !== 'string') throw new Error('the argument text must be a string');
    return createHash('sha256').update(text).digest('hex');
  },
}];

const { PIA_SERVER: server, PIA_POD_TOKEN: token } = process.env;
if (!server || !token) fail('PIA_SERVER and PIA_POD_TOKEN must be set');

const connection = new HubConnectionBuilder()
  .withUrl(`${server.replace(/\/$/, '')}/hubs/pod-uplink`, { accessTokenFactory: () => token })
  .withAutomaticReconnect({
    nextRetryDelayInMilliseconds: ({ previousRetryCount, retryReason }) =>
      isTokenRefused(retryReason) ? null : delay(previousRetryCount),
  })
  .configureLogging(LogLevel.Warning)
  .build();

// Calls in progress, by their ids.
const running = new Map<string, AbortController>();
let isStopping = false;

connection.on('Call', async (call: Call): Promise<CallResult> => {
  const tool = tools.find((it) => it.name === call.tool);
  if (!tool) return { content: `the pod has no tool ${call.tool}`, isError: true };
  const controller = new AbortController();
  running.set(call.callId, controller);
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(), call.timeoutSeconds * 1000);
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the call was cancelled or too slow')));
  });
  try {
    const content = Promise.resolve(tool.call(call.arguments, signal));
    return { content: await Promise.race([content, aborted]) };
  } catch (error) {
    return { content: error instanceof Error ? error.message : String(error), isError: true };
  } finally {
    clearTimeout(timer);
    running.delete(call.callId);
    if (isStopping) void stopWhenIdle();
  }
});

connection.on('Cancel', (callId: string) => running.get(callId)?.abort());
connection.onreconnecting(() => running.forEach((it) => it.abort()));
connection.onreconnected(hello);
// The client connects again by itself, unless the server does not want it to.
connection.onclose((error) => {
  if (!isStopping) fail(`the connection was closed: ${error?.message ?? 'without a reason'}`);
});
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
await connect();

// Connects for the first time, which the client does not repeat by itself.
async function connect(): Promise<void> {
  for (let attempt = 0; !isStopping; attempt += 1) {
    try {
      await connection.start();
      return await hello();
    } catch (error) {
      if (isTokenRefused(error)) fail('the token is refused');
      console.error(`not connected: ${error}`);
      await new Promise((resolve) => { setTimeout(resolve, delay(attempt)); });
    }
  }
}

// Describes the pod, on each new connection.
async function hello(): Promise<void> {
  const descriptions = tools.map(({ call, ...description }) => description);
  const description = { protocol: 1, name: 'pod-ts', version: '0.1.0', tools: descriptions };
  try {
    const { podId } = await connection.invoke<{ podId: string }>('Hello', description);
    console.log(`connected as ${podId}`);
  } catch (error) {
    if (connection.state === HubConnectionState.Connected) fail(`the hello is refused: ${error}`);
  }
}

// The client puts the status of a failed negotiation into its message only.
function isTokenRefused(error: unknown): boolean {
  return error instanceof Error && error.message.includes("Status code '401'");
}

// Delay before an attempt to connect: a second, doubled up to 30, with jitter.
function delay(attempt: number): number {
  return Math.min(1000 * 2 ** attempt, 30_000) * (0.5 + Math.random() / 2);
}

// Takes no further calls, and stops when those in progress have ended.
async function stop(): Promise<void> {
  isStopping = true;
  if (connection.state === HubConnectionState.Connected) await connection.invoke('Drain');
  await stopWhenIdle();
}

async function stopWhenIdle(): Promise<void> {
  if (running.size > 0) return;
  // The last result is sent after the handler has returned.
  await new Promise(setImmediate);
  await connection.stop();
  process.exit(0);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
