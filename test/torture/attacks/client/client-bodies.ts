// Malformed forms and compressed bodies of clients: each one of a list, and each body with a byte that is changed, left out or added, or
// with its end cut off.
import type { SeededRandom } from '../../../simulation/seeded-random.ts';
import { BOUNDARY, FORM_TYPE } from '../../../support/form.ts';
import { type Attack, type Case, interleaved, permutation } from '../../attack.ts';
import type { HttpCall } from '../../calls/call.ts';
import { callNamed, HTTP_CALLS } from '../../calls/http-calls.ts';
import { runCall } from '../../calls/run-call.ts';
import { CODERS, HOSTILE_CODINGS, type HostileCoding } from '../../corpus/hostile-codings.ts';
import { HOSTILE_FORMS, type HostileForm, partsOf } from '../../corpus/hostile-forms.ts';
import { expect, shown } from '../../finding.ts';
import type { Lane } from '../../stage/lane.ts';

const SPOILS = ['cut', 'corrupt', 'drop', 'surplus'] as const;
const TAKES_BYTE: ReadonlySet<string> = new Set(['corrupt', 'surplus']);
/** NUL, control characters, delimiters and separators, and bytes beyond ASCII. */
const BYTES = [0, 10, 13, 30, 34, 45, 59, 92, 127, 128, 255];

/** The permitted answers to a malformed body. */
const STATUSES: ReadonlySet<number> = new Set([200, 400, 404, 408, 413, 415, 422]);

const FORMS = HTTP_CALLS.filter(({ headers }) => headers['content-type'] === FORM_TYPE);

/** One row for each way in which a body is read. */
const CODED = ['native', 'public', 'chat', 'compact', 'native image', 'file', 'analytics', 'mcp', 'public file'].map(callNamed);

export const clientBodies: Attack = {
  name: 'client-bodies',
  title: 'malformed forms and compressed bodies',
  stage: 'ordinary',
  sample: 90,
  async cases(_stage, random) {
    const compressed = CODED.flatMap((call) =>
      Object.entries(CODERS).map(([coding, code]) => withCoding(call, { coding, body: code(call.body) })),
    );
    return interleaved([
      formCases(random),
      codingCases(random),
      interleaved(FORMS.map((call) => spoiltCases(call, random))),
      interleaved(compressed.map((call) => spoiltCases(call, random))),
    ]);
  },
};

const withCoding = (call: HttpCall, { coding, body }: { readonly coding: string; readonly body: Buffer }): HttpCall => ({
  ...call,
  name: `${call.name} in ${coding}`,
  headers: { ...call.headers, 'content-encoding': coding },
  body,
});

function* formCases(random: SeededRandom): Generator<Case> {
  for (const number of permutation(FORMS.length * HOSTILE_FORMS.length, random)) {
    const call = FORMS[number % FORMS.length] as HttpCall;
    const { name, type, body } = HOSTILE_FORMS[Math.floor(number / FORMS.length)] as HostileForm;
    const hostile = (): HttpCall => ({
      ...call,
      headers: { 'content-type': type },
      body: Buffer.from(body(partsOf(call.body, BOUNDARY)), 'latin1'),
    });
    yield { name: `${call.name}:${name}`, run: (lane) => sent(lane, hostile()) };
  }
}

function* codingCases(random: SeededRandom): Generator<Case> {
  for (const number of permutation(CODED.length * HOSTILE_CODINGS.length, random)) {
    const call = CODED[number % CODED.length] as HttpCall;
    const { name, coding, body } = HOSTILE_CODINGS[Math.floor(number / CODED.length)] as HostileCoding;
    yield { name: `${call.name}:${name}`, run: (lane) => sent(lane, withCoding(call, { coding, body: body(call.body) })) };
  }
}

/** Cases in which a byte of the list replaces, or is added at, each byte of the body. */
function* spoiltCases(call: HttpCall, random: SeededRandom): Generator<Case> {
  for (const number of permutation(call.body.length * SPOILS.length * BYTES.length, random)) {
    const how = SPOILS[number % SPOILS.length] as (typeof SPOILS)[number];
    const rest = Math.floor(number / SPOILS.length);
    const byte = BYTES[rest % BYTES.length] as number;
    const at = Math.floor(rest / BYTES.length);
    if (!TAKES_BYTE.has(how) && byte !== BYTES[0]) continue;
    yield { name: `${call.name}:${how}:${at}:${byte}`, run: (lane) => sent(lane, { ...call, body: spoilt(call.body, { how, at, byte }) }) };
  }
}

interface Spoil {
  readonly how: (typeof SPOILS)[number];
  readonly at: number;
  readonly byte: number;
}

function spoilt(body: Buffer, { how, at, byte }: Spoil): Buffer {
  const [before, after] = [body.subarray(0, at), body.subarray(at)];
  switch (how) {
    case 'cut':
      return before;
    case 'drop':
      return Buffer.concat([before, after.subarray(1)]);
    case 'corrupt':
      return Buffer.concat([before, Buffer.of(byte), after.subarray(1)]);
    case 'surplus':
      return Buffer.concat([before, Buffer.of(byte), after]);
  }
}

async function sent(lane: Lane, call: HttpCall): Promise<void> {
  await lane.restore();
  const { kind, answer } = await runCall(lane, { ...call, reply: 'any', retry: 'never' }, { said: 'spoilt' });
  expect(kind !== 'broken', () => `an answer that breaks off: ${shown(answer.body)}`);
  expect(STATUSES.has(answer.status), () => `status ${answer.status}: ${shown(answer.body)}`);
}
