// Servers of other authors as accounts of the gateway: aimock in this process, mock-llm and the Portkey gateway in separate processes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LLMock } from '@copilotkit/aimock';
import { PATIENCE_MS } from '../support/until.ts';

/** Starts aimock with its answers to these words, and to the result of a tool. */
export async function startAimock(): Promise<LLMock> {
  const mock = await LLMock.create({ port: 0, logLevel: 'silent' });
  mock.on({ userMessage: 'use the tool', hasToolResult: true }, { content: 'the tool was used' });
  mock.on({ userMessage: 'use the tool' }, { toolCalls: [{ name: 'look', arguments: '{"at":"the sky"}' }] });
  mock.on({ userMessage: 'fail' }, { error: { message: 'The server is overloaded.', type: 'server_error' }, status: 503 });
  mock.onMessage('hello', { content: 'hello from aimock' });
  return mock;
}

interface ServerProcess {
  /** The URL of the origin. */
  readonly url: string;
  close(): Promise<void>;
}

/** `@dwmkerr/mock-llm` repeats the last user message. */
export const startMockLlm = (): Promise<ServerProcess> =>
  startProcess((port) => ({ script: '@dwmkerr/mock-llm/dist/main.js', env: { PORT: String(port), HOST: '127.0.0.1' } }), '/v1/models');

/** Starts the Portkey gateway, which sends a request to the address in its headers. */
export const startPortkey = (): Promise<ServerProcess> =>
  startProcess((port) => ({ script: '@portkey-ai/gateway/build/start-server.js', args: [`--port=${port}`, '--headless'] }), '/');

interface Program {
  /** The path of the script below node_modules. */
  readonly script: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

async function startProcess(programOf: (port: number) => Program, ready: string): Promise<ServerProcess> {
  const port = await freePort();
  const { script, args = [], env = {} } = programOf(port);
  const path = fileURLToPath(new URL(`../../node_modules/${script}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  const url = `http://127.0.0.1:${port}`;
  await answering(child, url + ready);
  return {
    url,
    close: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A free port, because these programs do not report a port that they chose. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function answering(child: ChildProcess, url: string): Promise<void> {
  const errors: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
  const until = Date.now() + 3 * PATIENCE_MS;
  for (;;) {
    if (
      await fetch(url).then(
        (response) => response.ok,
        () => false,
      )
    )
      return;
    if (child.exitCode !== null || Date.now() > until)
      throw new Error(`${url} does not answer: ${Buffer.concat(errors).toString().slice(0, 500)}`);
    await delay(50);
  }
}
