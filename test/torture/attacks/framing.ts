// Requests that two parsers could read differently, on every kind of row, each whole, in two pieces and byte by byte: the gateway may serve what a
// strict parser reads, and nothing else.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { type Attack, type Case, interleaved, permutation, pick } from '../attack.ts';
import { callNamed } from '../calls/http-calls.ts';
import { rawCall } from '../client/raw-call.ts';
import { FRAMINGS, type Parts } from '../corpus/framing.ts';
import { readStrictly, type StrictRequest } from '../corpus/strict-requests.ts';
import { expect, shown } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import { OPERATOR_TOKEN } from '../stage/settings.ts';

const DELIVERIES = ['whole', 'in two pieces', 'byte by byte'] as const;
type Delivery = (typeof DELIVERIES)[number];

const NATIVE = '/backend-api/agent/responses';

interface Row extends Omit<Parts, 'headers'> {
  readonly type?: string;
  readonly token?: string;
}

/** A row of each kind, with the method and the body that it takes. */
const ROWS: readonly Row[] = [
  ...['native', 'public', 'transcribe', 'public models', 'mcp'].map((name) => rowOf(name)),
  { method: 'POST', path: '/backend-api/agent/analytics-events/events', body: '{"events":["MARK"]}', type: 'application/json' },
  { method: 'GET', path: NATIVE, body: '' },
  { method: 'DELETE', path: '/v1/files/file_1', body: '' },
  { method: 'OPTIONS', path: '/mcp', body: '' },
  { method: 'POST', path: '/v1/embeddings', body: '{}', type: 'application/json' },
  { method: 'GET', path: '/unroutable', body: '' },
];

function rowOf(name: string): Row {
  const { method, path, body, headers, surface } = callNamed(name);
  const type = headers['content-type'];
  return {
    ...{ method, path, body: body.toString('latin1').replace('\xc3\xa9 hello', 'MARK').replace('\r\nen\r\n', '\r\nMARK\r\n') },
    ...(type === undefined ? {} : { type }),
    ...(surface === 'operator' ? { token: OPERATOR_TOKEN } : {}),
  };
}

/** Paths of accounts. */
const DISPATCHED: Readonly<Record<string, string>> = {
  [NATIVE]: NATIVE,
  '/v1/responses': NATIVE,
  '/backend-api/agent/analytics-events/events': '/backend-api/agent/analytics-events/events',
  '/backend-api/transcribe': '/backend-api/transcribe',
};

/** Bodies that go to accounts while they come. */
const STREAMED: ReadonlySet<string> = new Set(['/backend-api/agent/analytics-events/events', '/backend-api/transcribe']);

export const framing: Attack = {
  name: 'framing',
  title: 'requests that two parsers could read differently',
  stage: 'ordinary',
  sample: 300,
  // Bytes that are no request are refused without a row.
  allows: { unequalRows: true },
  async cases(_stage, random) {
    return interleaved([casesOf(random), editedCases(random)]);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  const count = FRAMINGS.length * ROWS.length * DELIVERIES.length;
  for (const number of permutation(count, random)) {
    const delivery = DELIVERIES[number % DELIVERIES.length] as Delivery;
    const rest = Math.floor(number / DELIVERIES.length);
    const row = ROWS[rest % ROWS.length] as Row;
    const { name, frame } = FRAMINGS[Math.floor(rest / ROWS.length)] as (typeof FRAMINGS)[number];
    const cut = random.next();
    yield {
      name: `${row.method} ${row.path}:${name}:${delivery}`,
      run: (lane) =>
        framed(lane, bytesFor(lane, row, { frame, mark: `mark-${number}-` }), {
          delivery,
          cut,
          row,
          mark: `mark-${number}-`,
          isServed: true,
        }),
    };
  }
}

/** Bytes that end, part or hide something. */
const EDITS = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  '\t',
  ' ',
  ':',
  ';',
  ',',
  '\x0b',
  '\x7f',
  '\x80',
  '\xff',
  '/',
  '0',
  '9',
  'HTTP/1.1',
  'chunked',
  '\r\n ',
] as const;

/** Without end: one of the list, with one to three more edits in the request's own bytes. */
function* editedCases(random: SeededRandom): Generator<Case> {
  for (let number = 0; ; number++) {
    const row = pick(ROWS, random);
    const { name, frame } = pick(FRAMINGS, random);
    const edits = Array.from({ length: Math.floor(random.between(1, 4)) }, () => ({
      at: random.next(),
      text: pick(EDITS, random),
      replaces: random.next() < 0.5,
    }));
    const edited = (parts: Parts): string =>
      edits.reduce((text, { at, text: more, replaces }) => {
        const place = Math.floor(at * text.length);
        return text.slice(0, place) + more + text.slice(place + (replaces ? more.length : 0));
      }, frame(parts));
    const delivery = pick(DELIVERIES, random);
    const mark = `edit-${number}-`;
    const cut = random.next();
    yield {
      name: `edited ${number}:${row.method} ${row.path}:${name}:${delivery}`,
      run: (lane) => framed(lane, bytesFor(lane, row, { frame: edited, mark }), { delivery, cut, row, mark, isServed: false }),
    };
  }
}

/** The request, and behind it one that a smuggler would like to be read as another request, or as its body. Both have a mark in their body. */
function bytesFor(
  lane: Lane,
  { type, token, ...row }: Row,
  { frame, mark }: { readonly frame: (parts: Parts) => string; readonly mark: string },
): Buffer {
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

interface Framed {
  readonly delivery: Delivery;
  readonly cut: number;
  readonly row: Row;
  readonly mark: string;
  /** Whether the request is one that is served where its framing is. */
  readonly isServed: boolean;
}

async function framed(lane: Lane, bytes: Buffer, { delivery, cut, row, mark, isServed }: Framed): Promise<void> {
  lane.exchanges.next();
  const { requests, end, begun } = readStrictly(bytes);
  const seen = await rawCall(lane.url, {
    pieces: piecesOf(bytes, delivery, cut),
    leaves: 'never',
    answers: requests.length + (end === 'refused' || end === 'more' ? 1 : 0),
    methods: requests.map(({ method }) => method),
  });
  const { answers, fault, rest } = seen;
  const told = (): string =>
    `answered ${answers.map(({ status }) => status).join(', ')}; read by the rules as ${requests.length} requests, ${end}: ${shown(bytes)}`;
  // The one row that is served so; what is behind it is of the other protocol.
  if (row.path === NATIVE && row.method === 'GET' && seen.bytes.includes('HTTP/1.1 101 ')) return;
  expect(!seen.isLate, () => `no answer within the deadline: ${told()}`);
  expect(fault === undefined && rest.length === 0 && answers.every(({ isWhole }) => isWhole), () => `${fault}: ${told()}`);
  expect(answers.length <= requests.length + 1, () => `more answers than requests: ${told()}`);
  const refused = answers.findIndex(({ status, headers }) => status >= 400 && headers.connection === 'close');
  expect(refused === -1 || refused === answers.length - 1, () => `answers behind a refusal: ${told()}`);
  const expected = requests.flatMap((request) => dispatched(request, row, mark) ?? []);
  const own = (): readonly string[] =>
    lane.exchanges.list.flatMap(({ path, request }) => (unchunked(request).includes(mark) ? (path.split('?')[0] ?? '') : []));
  // The gateway may refuse more than the rules do, or close the connection; then nothing behind it is read.
  const all = (): true | undefined => own().length >= expected.length || undefined;
  if (isServed && refused === -1 && answers.length === requests.length) await until(`${expected} at the accounts: ${told()}`, all, 2_000);
  const streamed = [...requests, ...(begun ? [begun] : [])].flatMap(({ path }) => (STREAMED.has(path) ? path : []));
  const surplus = without(own(), [...expected, ...streamed]);
  expect(surplus.length === 0, () => `${surplus} went to accounts beside ${expected}: ${told()}`);
}

/** A body that streams goes out in chunks as it came in. */
const unchunked = (request: Buffer): string => request.toString('latin1').replace(/\r\n[0-9a-f]+\r\n/g, '');

/** Where the rules of the gateway send a request; undefined where they refuse it, or answer it themselves. */
function dispatched({ method, path, headers, body }: StrictRequest, row: Row, mark: string): string | undefined {
  const to = method === 'POST' ? DISPATCHED[path.split('?')[0] ?? ''] : undefined;
  // A header that is named in Connection is for the next hop alone: then the request has no key.
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

/** What is left of `all` when each of `some` was taken out once. */
function without(all: readonly string[], some: readonly string[]): readonly string[] {
  const left = [...some];
  return all.filter((one) => {
    const at = left.indexOf(one);
    if (at === -1) return true;
    left.splice(at, 1);
    return false;
  });
}

function piecesOf(bytes: Buffer, delivery: Delivery, cut: number): readonly Buffer[] {
  if (delivery === 'whole') return [bytes];
  const at = 1 + Math.floor(cut * (bytes.length - 1));
  if (delivery === 'in two pieces') return [bytes.subarray(0, at), bytes.subarray(at)];
  // Of a very long request the first bytes alone: the rest of it is all the same.
  const single = Math.min(bytes.length, 2_000);
  return [...Array.from({ length: single }, (_, i) => bytes.subarray(i, i + 1)), bytes.subarray(single)];
}
