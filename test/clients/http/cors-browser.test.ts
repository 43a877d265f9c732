// CORS in a real headless browser: a page of a listed origin uses /v1, a page of another origin cannot.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { folderFor } from '../../config/files.ts';
import { chromiumPath } from '../../support/chromium.ts';
import { KEY, startGateway } from '../../support/gateway.ts';

/** The page's script: uses the gateway as an SDK in a browser would, and posts what it saw to the page's own server. */
const script = (url: string): string => `
  const [url, authorization] = ${JSON.stringify([url, `Bearer ${KEY}`])};
  const turn = (stream) => ({
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', 'x-stainless-lang': 'js' },
    body: JSON.stringify({ model: 'model-a', input: 'hello', stream }),
  });
  const answerOf = async (path, init) => {
    try {
      const response = await fetch(url + path, init);
      return { status: response.status, id: response.headers.has('x-request-id'), text: await response.text() };
    } catch (error) {
      return error.name;
    }
  };
  const post = (seen) => fetch('/seen', { method: 'POST', body: JSON.stringify(seen) });
  (async () => ({
    models: await answerOf('/v1/models', { headers: { authorization } }),
    answer: await answerOf('/v1/responses', turn(false)),
    stream: await answerOf('/v1/responses', turn(true)),
    refused: await answerOf('/v1/models', { headers: { authorization: 'Bearer wrong' } }),
    native: await answerOf('/backend-api/agent/models', { headers: { authorization } }),
  }))().then(post, (error) => post({ failed: String(error) }));`;

/** For each request, what the page could read, or the name of its error. */
type Seen = Readonly<Record<string, { readonly status: number; readonly id: boolean; readonly text: string } | string>>;

class BrowserEnded extends Error {
  /** Whether the dynamic linker lacks a library; on Debian it is in libnss3. */
  readonly lacksLibraries: boolean;

  constructor(code: number | null, signal: NodeJS.Signals | null) {
    super(`the browser ended with ${code ?? signal}`);
    this.lacksLibraries = code === 127;
  }
}

interface Page {
  readonly origin: string;
  /** Opens the page in a browser, and resolves with what the page posted. */
  readonly seen: (url: string) => Promise<Seen>;
}

async function openPage(context: TestContext): Promise<Page> {
  const posted = Promise.withResolvers<string>();
  let gatewayUrl = '';
  const server: Server = createServer((request, response) => {
    if (request.method !== 'POST') return response.setHeader('content-type', 'text/html').end(`<script>${script(gatewayUrl)}</script>`);
    request.setEncoding('utf8');
    return request.toArray().then((parts) => {
      response.end();
      posted.resolve(parts.join(''));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const seen = async (url: string) => {
    gatewayUrl = url;
    const browser = spawn(
      await chromiumPath(),
      [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--remote-debugging-port=0',
        `--user-data-dir=${folderFor(context)}`,
        origin,
      ],
      { stdio: 'ignore' },
    );
    const ended = new Promise<never>((_, reject) => {
      browser.once('exit', (code, signal) => reject(new BrowserEnded(code, signal))).once('error', reject);
    });
    context.after(() => browser.kill('SIGKILL'));
    try {
      return JSON.parse(await Promise.race([posted.promise, ended]));
    } finally {
      browser.kill('SIGKILL');
      // The folder is removed after the browser no longer writes to it.
      await ended.catch(() => undefined);
    }
  };
  return { origin, seen };
}

const TITLE = 'a page of a listed origin gets models, answers, streams and errors, and only from /v1; another page gets nothing';

test(TITLE, { timeout: 120_000 }, async (context) => {
  const listed = await openPage(context);
  const other = await openPage(context);
  await using gate = await startGateway({
    config: (draft) => {
      draft.listen = { ...draft.listen, cors: { origins: [listed.origin] } };
    },
  });
  const seen = await listed.seen(gate.url).catch((error: unknown) => error);
  if (seen instanceof BrowserEnded && seen.lacksLibraries) return context.skip('the browser needs libnss3');
  if (seen instanceof Error) throw seen;
  const { models, answer, stream, refused, native } = seen as Seen;
  assert.ok(typeof models === 'object' && typeof answer === 'object' && typeof stream === 'object' && typeof refused === 'object');
  assert.deepEqual([models.status, answer.status, stream.status, refused.status], [200, 200, 200, 401]);
  assert.ok(models.id && answer.id && stream.id && refused.id, 'the page reads x-request-id');
  assert.match(models.text, /"model-a"/);
  assert.match(answer.text, /You said: hello/);
  assert.match(stream.text, /event: response\.completed\n.*\n\ndata: \[DONE\]/);
  assert.match(refused.text, /"invalid_api_key"/);
  assert.equal(native, 'TypeError');
  const elsewhere = await other.seen(gate.url);
  assert.deepEqual(new Set(Object.values(elsewhere)), new Set(['TypeError']));
  assert.equal(gate.upstream.turns().length, 2);
});
