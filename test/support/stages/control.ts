// A gateway whose two accounts are one plain upstream that answers control-plane paths, and the rows that lead there.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Draft, startGateway, type TestGateway } from '../gateway.ts';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Control extends AsyncDisposable {
  readonly gate: TestGateway;
  readonly seen: readonly Seen[];
}

export interface ControlAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Answers requests itself; `seen` then stays empty. */
export type Raw = (request: IncomingMessage, response: ServerResponse) => void;

/** The control-plane rows of section B, and those that native clients have requested since. */
export const CONTROL_ROWS = [
  ['GET', '/backend-api/agent/thread/goal/get'],
  ['POST', '/backend-api/agent/thread/goal/get'],
  ['POST', '/backend-api/agent/thread/goal/set'],
  ['POST', '/backend-api/agent/thread/goal/clear'],
  ['POST', '/backend-api/agent/analytics-events/events'],
  ['POST', '/backend-api/agent/memories/trace_summarize'],
  ['POST', '/backend-api/agent/alpha/search'],
  ['POST', '/backend-api/agent/alpha/history/v2/list_windows'],
  ['POST', '/backend-api/agent/alpha/history/v2/list_items'],
  ['POST', '/backend-api/agent/alpha/history/v2/read_item'],
  ['POST', '/backend-api/agent/alpha/history/v2/search_contents'],
  ['POST', '/backend-api/agent/alpha/notes/v2/thread_hint'],
  ['POST', '/backend-api/agent/alpha/notes/v2/list_files_by_prefix'],
  ['POST', '/backend-api/agent/alpha/notes/v2/read_file'],
  ['POST', '/backend-api/agent/alpha/notes/v2/search_contents'],
  ['POST', '/backend-api/agent/alpha/notes/v2/append_to_file'],
  ['POST', '/backend-api/agent/alpha/notes/v2/write_file'],
  ['POST', '/backend-api/agent/safety/arc'],
  ['GET', '/backend-api/agent/agent-identities/jwks'],
  ['POST', '/backend-api/agent/realtime/calls'],
] as const;

/** Marks all of these rows as supported. */
export const supported = (draft: Draft): void => {
  draft.routes = [
    ...CONTROL_ROWS.map(([method, path]) => ({ [method]: path, status: 'supported', serve: 'forward', class: 'control' })),
    { GET: '/v1/models', status: 'supported', serve: 'models' },
  ];
};

export async function control(
  answer: ((seen: Seen) => ControlAnswer) | { readonly raw: Raw },
  edit: (draft: Draft) => void = () => undefined,
): Promise<Control> {
  const seen: Seen[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url?.includes('/models?')) return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"models":[]}');
    // The gateway's own requests at the start are not recorded.
    if (request.url?.endsWith('/meter/usage')) return void response.writeHead(404).end();
    // Paths that the gateway itself reads.
    if (request.url === '/backend-api/meter/usage') return void response.writeHead(404).end();
    if ('raw' in answer) return answer.raw(request, response);
    const body = Buffer.concat(await request.toArray()).toString('utf8');
    const arrived = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
    seen.push(arrived);
    const { status = 200, headers = { 'content-type': 'application/json' }, body: text = '{"ok":true}' } = answer(arrived);
    response.writeHead(status, headers).end(text);
  };
  const upstream = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  const gate = await startGateway({
    config: (draft) => {
      for (const account of draft.accounts) account.base_url = `http://127.0.0.1:${port}`;
      edit(draft);
    },
  });
  return {
    gate,
    seen,
    [Symbol.asyncDispose]: async () => {
      upstream.closeAllConnections();
      upstream.close();
      await gate.close();
    },
  };
}
