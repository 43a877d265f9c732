// Sends one request in an unusual framing, and after it one that a smuggler wants to be read as another request. The requests that arrive
// are compared with those that a strict parser reads.
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { rawCall } from '../client/raw-call.ts';
import type { Parts } from '../corpus/framing.ts';
import { readStrictly, type StrictRequest } from '../corpus/strict-requests.ts';
import { expect, shown } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import { OPERATOR_TOKEN } from '../stage/settings.ts';
import { callNamed } from './http-calls.ts';

const NATIVE = '/backend-api/agent/responses';

export interface FramedRow extends Omit<Parts, 'headers'> {
  readonly type?: string;
  readonly token?: string;
}

/** A row of each kind, with its method and a body. */
export const FRAMED_ROWS: readonly FramedRow[] = [
  ...['native', 'public', 'chat', 'native image', 'public image', 'transcribe', 'public models', 'mcp'].map((name) => rowOf(name)),
  { method: 'POST', path: '/backend-api/agent/analytics-events/events', body: '{"events":["MARK"]}', type: 'application/json' },
  { method: 'GET', path: NATIVE, body: '' },
  { method: 'DELETE', path: '/v1/files/file_1', body: '' },
  { method: 'OPTIONS', path: '/mcp', body: '' },
  { method: 'POST', path: '/v1/embeddings', body: '{}', type: 'application/json' },
  { method: 'GET', path: '/nowhere', body: '' },
];

function rowOf(name: string): FramedRow {
  const { method, path, body, headers, surface } = callNamed(name);
  const type = headers['content-type'];
  return {
    ...{
      method,
      path,
      body: body
        .toString('latin1')
        .replace(/\xc3\xa9 hello|a cat/, 'MARK')
        .replace('\r\nen\r\n', '\r\nMARK\r\n'),
    },
    ...(type === undefined ? {} : { type }),
    ...(surface === 'operator' ? { token: OPERATOR_TOKEN } : {}),
  };
}

/** The paths at accounts. */
const DISPATCHED: Readonly<Record<string, string>> = {
  [NATIVE]: NATIVE,
  '/v1/responses': NATIVE,
  '/v1/chat/completions': NATIVE,
  '/v1/images/generations': NATIVE,
  '/backend-api/agent/images/generations': '/backend-api/agent/images/generations',
  '/backend-api/agent/analytics-events/events': '/backend-api/agent/analytics-events/events',
  '/backend-api/transcribe': '/backend-api/transcribe',
};

/** Paths whose bodies are passed on while they arrive. */
const STREAMED: ReadonlySet<string> = new Set(['/backend-api/agent/analytics-events/events', '/backend-api/transcribe']);

export interface FramedRequest {
  readonly row: FramedRow;
  /** @returns the bytes in latin1 */
  readonly frame: (parts: Parts) => string;
  /** The mark in the request's body, and in the body of the request after it. */
  readonly mark: string;
  /** Whether the request is served if its framing is. */
  readonly isServed: boolean;
  readonly pieces: (bytes: Buffer) => readonly Buffer[];
}

/**
 * The bytes of the request, and after it of one that a smuggler wants to be read as another request, or as its body. Both bodies have a
 * mark.
 */
function bytesFor(lane: Lane, { row: { type, token, ...row }, frame, mark }: FramedRequest): Buffer {
  const key = lane.keyFor('spoilt');
  const headers: Parts['headers'] = [
    ['host', 'gateway'],
    ['authorization', `Bearer ${token ?? key}`],
    ...(type === undefined ? [] : [['content-type', type] as const]),
  ];
  const behind = JSON.stringify(turnBody(mark, { stream: false }));
  const smuggled = `POST ${NATIVE} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${behind.length}\r\n\r\n${behind}`;
  return Buffer.from(frame({ ...row, body: row.body.replaceAll('MARK', mark), headers }) + smuggled, 'latin1');
}

/** @throws Finding */
export async function runFramed(lane: Lane, request: FramedRequest): Promise<void> {
  const { row, mark, isServed, pieces } = request;
  const bytes = bytesFor(lane, request);
  lane.exchanges.next();
  const { requests, end, begun } = readStrictly(bytes);
  const seen = await rawCall(lane.url, {
    pieces: pieces(bytes),
    leaves: 'never',
    answers: requests.length + (end === 'refused' || end === 'more' ? 1 : 0),
    methods: requests.map(({ method }) => method),
  });
  const { answers, fault, rest } = seen;
  const told = (): string =>
    `answered ${answers.map(({ status }) => status).join(', ')}; read by the rules as ${requests.length} requests, ${end}: ${shown(bytes)}`;
  // This row is the only one that switches protocols. Bytes after it belong to the other protocol.
  if (row.path === NATIVE && row.method === 'GET' && seen.bytes.includes('HTTP/1.1 101 ')) return;
  expect(!seen.isLate, () => `no answer within the deadline: ${told()}`);
  expect(fault === undefined && rest.length === 0 && answers.every(({ isWhole }) => isWhole), () => `${fault}: ${told()}`);
  expect(answers.length <= requests.length + 1, () => `more answers than requests: ${told()}`);
  const refused = answers.findIndex(({ status, headers }) => status >= 400 && headers.connection === 'close');
  expect(refused === -1 || refused === answers.length - 1, () => `answers behind a refusal: ${told()}`);
  // On a busy machine a client that sends byte by byte may be too slow.
  if (answers.some(({ status }) => status === 408)) return;
  const expected = requests.flatMap((one) => dispatched(one, row, mark) ?? []);
  const own = (): readonly string[] =>
    lane.exchanges.list.flatMap(({ path, request: sent }) => (unchunked(sent).includes(mark) ? withoutQuery(path) : []));
  // The gateway may refuse more than the rules do, or close the connection, and then reads nothing after it.
  const all = (): true | undefined => own().length >= expected.length || undefined;
  if (isServed && refused === -1 && answers.length === requests.length) await until(`${expected} at the accounts: ${told()}`, all, 2_000);
  const streamed = [...requests, ...(begun ? [begun] : [])].map(({ path }) => withoutQuery(path)).filter((path) => STREAMED.has(path));
  const surplus = without(own(), [...expected, ...streamed]);
  expect(surplus.length === 0, () => `${surplus} went to accounts beside ${expected}: ${told()}`);
}

const withoutQuery = (path: string): string => path.split('?')[0] ?? '';

/** The request without its chunk sizes, because a body that is passed on is sent in the chunks in which it came. */
const unchunked = (request: Buffer): string => request.toString('latin1').replace(/\r\n[0-9a-f]+\r\n/g, '');

/** The path to which the rules of the gateway send a request; undefined if they refuse it, or answer it themselves. */
function dispatched({ method, path, headers, body }: StrictRequest, row: FramedRow, mark: string): string | undefined {
  const to = method === 'POST' ? DISPATCHED[withoutQuery(path)] : undefined;
  // A header that is named in Connection is only for the next hop, so that the request then has no key.
  const isKeyed = !(headers.get('connection') ?? '').includes('authorization');
  const isWhole = body === row.body.replaceAll('MARK', mark) || isJson(body);
  return isKeyed && isWhole ? to : undefined;
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

/** The items of `all`, without one occurrence of each item in `some`. */
function without(all: readonly string[], some: readonly string[]): readonly string[] {
  const left = [...some];
  return all.filter((one) => {
    const at = left.indexOf(one);
    if (at === -1) return true;
    left.splice(at, 1);
    return false;
  });
}
