// A small stream that breaks off at every byte, and arrives in pieces of every size: clients get complete answers, clean errors, or the
// ending of their surface, and every turn leaves one row.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fault } from '../../../proxy/rehearsal/faults/fault.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyBytes, turnBody } from '../../support/rehearsal-replies.ts';
import { numbersTo, sampleOf } from '../../support/sample.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';

const BODIES = {
  native: [NATIVE, turnBody('a')],
  public: [PUBLIC, { model: 'model-a', input: 'a', stream: true }],
  collected: [PUBLIC, { model: 'model-a', input: 'a' }],
} as const;
type Surface = keyof typeof BODIES;

const EVENTS: readonly object[] = [
  { type: 'response.created', sequence_number: 0, response: {} },
  { type: 'response.output_text.delta', sequence_number: 1, delta: 'é' },
  { type: 'response.completed', sequence_number: 2, response: { id: 'r', status: 'completed' } },
];

const framed = (newline: string): Buffer =>
  Buffer.from(EVENTS.map((event) => `data: ${JSON.stringify(event)}${newline}${newline}`).join(''));

/** Where each event of the stream ends. */
function endsOf(stream: Buffer, newline: string): number[] {
  return [...stream.toString('latin1').matchAll(new RegExp(newline + newline, 'g'))].map(({ index }) => index + 2 * newline.length);
}

/** The reply as a client saw it: its status, its text, and whether the stream broke off. */
interface Seen {
  readonly status: number;
  readonly text: string;
  readonly broken: boolean;
  readonly id: string;
}

async function see(gate: TestGateway, surface: Surface): Promise<Seen> {
  const [path, body] = BODIES[surface];
  const reply = await gate.fetch(path, { body });
  const { status, headers } = reply;
  let text = '';
  let broken = false;
  const decoder = new TextDecoder();
  try {
    for await (const piece of reply.body ?? []) text += decoder.decode(piece, { stream: true });
  } catch {
    broken = true;
  }
  return { status, text, broken, id: headers.get('x-request-id') ?? '' };
}

describe('a stream that is cut', () => {
  for (const newline of ['\n', '\r\n']) {
    const stream = framed(newline);
    const [head = 0, visible = 0, whole = 0] = endsOf(stream, newline);
    // After the CR of the last CRLF the event is already complete.
    const done = whole - (newline.length - 1);
    const cuts = sampleOf(numbersTo(stream.length + 1), [0, ...[head, visible, whole].flatMap((end) => [end - 2, end - 1, end])]);

    /** The expected reply of the surface for a stream of this many bytes. */
    const EXPECTED: Readonly<Record<Surface, (bytes: number, seen: Seen) => readonly unknown[]>> = {
      native(bytes, { status, text, broken }) {
        if (bytes < visible - (newline.length - 1)) {
          assert.deepEqual([status, broken, JSON.parse(text).error.code], [502, false, 'upstream_error']);
          return [502, 'failed', 'upstream_error'];
        }
        assert.equal(status, 200);
        if (bytes >= done) {
          assert.deepEqual([text, broken], [stream.toString(), false]);
          return [200, 'completed', null];
        }
        assert.equal(broken, true, 'without its final chunk');
        assert.equal(text, stream.toString('utf8', 0, visible));
        return [200, 'cut', 'upstream_error'];
      },
      public(bytes, { status, text, broken }) {
        assert.equal(broken, false);
        if (bytes < visible - (newline.length - 1)) {
          assert.deepEqual([status, JSON.parse(text).error.code], [502, 'upstream_error']);
          return [502, 'failed', 'upstream_error'];
        }
        assert.equal(status, 200);
        const events = eventsOf(text);
        if (bytes >= done) {
          assert.deepEqual(
            events.map(({ data }) => data.type ?? data),
            ['response.created', 'response.output_text.delta', 'response.completed', '[DONE]'],
          );
          return [200, 'completed', null];
        }
        assert.deepEqual(
          events.map(({ data }) => [data.type, data.sequence_number]),
          [
            ['response.created', 0],
            ['response.output_text.delta', 1],
            ['error', 2],
          ],
        );
        return [200, 'cut', 'server_error'];
      },
      collected(bytes, { status, text, broken }) {
        assert.equal(broken, false);
        if (bytes >= done) {
          assert.deepEqual([status, JSON.parse(text).status], [200, 'completed']);
          return [200, 'completed', null];
        }
        assert.deepEqual([status, JSON.parse(text).error.code], [502, 'upstream_error']);
        return [502, bytes < visible - (newline.length - 1) ? 'failed' : 'cut', 'upstream_error'];
      },
    };

    for (const surface of Object.keys(BODIES) as Surface[]) {
      test(`after each of its bytes, lines ending in ${JSON.stringify(newline)}: ${surface}`, async () => {
        await using gate = await startGateway({ upstream: { accounts: ['north'] } });
        assert.ok(head > 0 && visible > head && whole === stream.length);
        const expected = new Map<string, readonly unknown[]>();
        for (const bytes of cuts) {
          const how: Fault = { kind: 'cut', at: { bytes }, how: bytes % 5 === 0 ? 'reset' : 'close' };
          gate.upstream.next('north', [replyBytes(stream), how]);
          const seen = await see(gate, surface);
          expected.set(seen.id, EXPECTED[surface](bytes, seen));
        }
        assert.equal(expected.size, cuts.length);
        const rows = await gate.rows();
        assert.equal(rows.length, expected.size, 'one row a turn');
        for (const { id, status, outcome, code } of rows) assert.deepEqual([status, outcome, code], expected.get(id));
      });
    }
  }
});

test('a stream in pieces of any size is the same to its client, whatever its lines end in', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  for (const newline of ['\n', '\r\n', '\r']) {
    for (const surface of Object.keys(BODIES) as Surface[]) {
      gate.upstream.next('north', replyBytes(framed(newline)));
      const whole = await see(gate, surface);
      assert.equal(whole.status, 200);
      for (const bytes of [1, 2, 3, 5, 7, 11, 17, 64]) {
        gate.upstream.next('north', [replyBytes(framed(newline)), { kind: 'drip', bytes }]);
        const dripped = await see(gate, surface);
        assert.deepEqual([dripped.status, dripped.text, dripped.broken], [200, whole.text, false]);
      }
    }
  }
});

test('a stream in two pieces is the same to its client, wherever it is split', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const stream = framed('\r\n');
  gate.upstream.next('north', replyBytes(stream));
  const whole = await see(gate, 'public');
  for (const bytes of sampleOf(numbersTo(stream.length).slice(1), endsOf(stream, '\r\n'))) {
    gate.upstream.next('north', [replyBytes(stream), { kind: 'stall', at: { bytes }, ms: 0 }]);
    const parted = await see(gate, 'public');
    assert.deepEqual([parted.status, parted.text], [200, whole.text]);
  }
});

test('a collected JSON answer that is cut after any byte is answered as one well-formed failure', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const json = JSON.stringify(EVENTS[2]);
  const cuts = sampleOf(numbersTo(json.length), [0, json.length - 1]);
  for (const bytes of cuts) {
    for (const surface of ['native', 'collected'] as const) {
      const reply = replyBytes(json, { headers: { 'content-type': 'application/json' } });
      gate.upstream.next('north', [reply, { kind: 'cut', at: { bytes } }]);
      const { status, text } = await see(gate, surface);
      assert.deepEqual([status, JSON.parse(text).error.code], [502, 'upstream_error']);
    }
  }
  assert.equal((await gate.rows()).length, 2 * cuts.length);
});
