// Faults of providers at each event, in fault scripts of the rehearsal provider: refusals in the head and later in the reply, malformed
// events, silence, closes.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, permutation, pick } from '../attack.ts';
import type { HttpCall, SocketCall } from '../calls/call.ts';
import { HTTP_CALLS } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { runSocketCall } from '../calls/run-socket-call.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { expect, shown } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';

const CODES = ['', ' server_is_overloaded', ' rate_limit_exceeded', ' usage_limit_reached', ' invalid_prompt', ' context_length_exceeded'];
const CLOSES = [1000, 1001, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 3000, 4999];
const STATUSES = [400, 401, 402, 403, 404, 405, 407, 408, 409, 413, 418, 422, 426, 429, 451, 500, 501, 502, 503, 504, 529, 599];
const EVENTS = 22;

const upTo = <T>(count: number, of: (n: number) => T): readonly T[] => Array.from({ length: count }, (_, n) => of(n));

/** Faults of any reply. */
const FAULTS: readonly string[] = [
  ...CODES.flatMap((code) => upTo(EVENTS, (n) => `refuse inside${code} after ${n} events`)),
  ...upTo(EVENTS, (n) => `refuse inside as error after ${n} events`),
  ...STATUSES.flatMap((status) => [`refuse ${status}`, `refuse ${status} retry 1`, `refuse ${status} usage_limit_reached resets 1`]),
  ...upTo(EVENTS, (n) => `malformed event ${n + 1}`),
  ...upTo(EVENTS, (n) => `malformed event ${n + 1} as array`),
  ...upTo(EVENTS, (n) => `cut after ${n} events`),
  ...upTo(EVENTS, (n) => `reset after ${n} events`),
  ...upTo(EVENTS, (n) => `stall after ${n} events for 700 ms`),
  ...[
    'cut before headers',
    'cut after headers',
    'reset after headers',
    'stall after headers for 700 ms',
    'stall before headers for 700 ms',
  ],
  ...['no terminal', 'empty output', 'cr framing', 'crlf framing', 'drip 7 bytes', 'cr framing + drip 16 bytes', 'no preamble', 'pace 2'],
  ...['missing', 'twice', 'blank', 'unsealed'].map((how) => `compaction ${how}`),
];

/** Faults only of replies on websockets. */
const SOCKET_FAULTS: readonly string[] = [
  ...CLOSES.flatMap((code) => upTo(EVENTS, (n) => `close ${code} after ${n} events`)),
  ...upTo(EVENTS, (n) => `half open after ${n} events`),
  ...upTo(EVENTS, (n) => `binary frame ${n + 1}`),
  ...['connection limit', 'anchor lost', 'frame too large'],
];

/** Calls whose bodies can carry a script to the account. */
const CALLS = HTTP_CALLS.filter(({ headers, metered }) => metered && headers['content-type'] === 'application/json');

type Target = { readonly http: HttpCall } | { readonly socket: SocketCall };

export const providerEvents: Attack = {
  name: 'provider-events',
  title: 'faults of providers at each event',
  stage: 'ordinary',
  sample: 150,
  async cases(_stage, random) {
    const pairs = [
      ...CALLS.flatMap((http) => FAULTS.map((script) => ({ target: { http }, script }))),
      ...SOCKET_CALLS.flatMap((socket) => [...FAULTS, ...SOCKET_FAULTS].map((script) => ({ target: { socket }, script }))),
    ];
    return casesOf(pairs, random);
  },
};

function* casesOf(pairs: readonly { readonly target: Target; readonly script: string }[], random: SeededRandom): Generator<Case> {
  for (const number of permutation(pairs.length, random)) {
    const { target, script } = pairs[number] as (typeof pairs)[number];
    // The script is for the first account, for both, or different for each.
    const general = random.next() < 0.5;
    const other = random.next() < 0.3 ? pick(FAULTS, random) : undefined;
    const name = 'http' in target ? target.http.name : target.socket.name;
    const scope = general ? 'both' : `first${other === undefined ? '' : `, then ${other}`}`;
    yield {
      name: `${name}:${script}:${scope}`,
      run: (lane) => {
        const [first, second] = lane.accounts;
        const single = `${first}: ${script}${other === undefined ? '' : `; ${second}: ${other}`}`;
        return scripted(lane, target, general ? script : single);
      },
    };
  }
}

async function scripted(lane: Lane, target: Target, script: string): Promise<void> {
  await lane.restore();
  const metadata = { rehearse: script };
  if ('socket' in target) {
    const { socket } = target;
    const frames = socket.frames.map((frameOf, i) => (previous: string | undefined) => {
      const frame = frameOf(previous);
      // Only the last turn has the script.
      return i === socket.frames.length - 1 ? { ...frame, metadata } : frame;
    });
    await runSocketCall(lane, { ...socket, frames }, { said: 'spoilt' });
    return;
  }
  const { http } = target;
  const body = Buffer.from(JSON.stringify({ ...JSON.parse(http.body.toString()), metadata }));
  const { answer } = await runCall(lane, { ...http, body }, { said: 'spoilt' });
  const text = answer.body.toString();
  expect(
    !text.includes('invalid_rehearsal') && !text.includes('rehearsal_defect'),
    () => `a script that is none: ${script}: ${shown(text)}`,
  );
}
