// A compaction that breaks off at every byte, on the compact path and as a turn: clients get a complete compaction or one clean error,
// every turn leaves one row, and no compaction that began is requested again.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Reply, startGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyBytes } from '../../support/rehearsal-replies.ts';
import { numbersTo, sampleOf } from '../../support/sample.ts';

const SEALED = { type: 'compaction', encrypted_content: 'é' };

/** The bytes that the account sends. */
const FORMS = {
  route: { type: 'application/json', text: JSON.stringify({ output: [SEALED] }) },
  trigger: {
    type: 'text/event-stream',
    text: [
      { type: 'response.output_item.done', output_index: 0, item: SEALED },
      { type: 'response.completed', response: { id: 'r', object: 'response', status: 'completed', output: [SEALED] } },
    ]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join(''),
  },
} as const;

const input = [{ role: 'user', content: 'a' }, { type: 'compaction_trigger' }];
const CLIENTS = {
  native: ['/backend-api/agent/responses/compact', { model: 'model-a', input: [] }],
  collected: ['/v1/responses', { model: 'model-a', input }],
  streamed: ['/v1/responses', { model: 'model-a', input, stream: true }],
} as const;

/** The items that a client has received. */
const itemsIn = ({ json, text }: Reply): unknown => json?.output ?? eventsOf(text).find(({ data }) => data.response)?.data.response.output;

for (const form of ['route', 'trigger'] as const) {
  describe(`a compaction by ${form}`, () => {
    const { type, text } = FORMS[form];
    const bytes = Buffer.from(text);

    for (const client of Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]) {
      test(`cut after each of its bytes: ${client}`, async () => {
        await using gate = await startGateway({
          upstream: { manners: { noCompactPath: false } },
          config: (draft) => {
            for (const account of draft.accounts) account.compact = form;
          },
        });
        const [path, body] = CLIENTS[client];
        const expected = new Map<string, readonly unknown[]>();
        for (const at of sampleOf(numbersTo(bytes.length + 1), [0, bytes.length - 1, bytes.length])) {
          // After three cuts in a row an account would be in a cooldown.
          gate.heal();
          gate.upstream.clear();
          gate.upstream.next('north', [
            replyBytes(bytes, { headers: { 'content-type': type } }),
            { kind: 'cut', at: { bytes: at }, how: at % 2 === 0 || at === bytes.length ? 'close' : 'reset' },
          ]);
          const reply = await gate.send(path, { body });
          // A JSON body is complete with its length, a turn with its terminal event.
          const whole = at === bytes.length;
          if (whole) assert.deepEqual([reply.status, itemsIn(reply)], [200, [SEALED]], reply.text);
          else assert.deepEqual([reply.status, reply.json.error.code], [502, 'upstream_error'], `${at}: ${reply.text}`);
          assert.equal(gate.upstream.turns().length, 1, 'one account, once');
          const id = reply.headers.get('x-request-id') ?? '';
          expected.set(id, whole ? [200, null, 'completed', 0] : [502, 'upstream_error', 'failed', 0]);
        }
        const rows = await gate.rows();
        assert.deepEqual(new Map(rows.map(({ id, status, code, outcome, retries }) => [id, [status, code, outcome, retries]])), expected);
      });

      test(`delivered in pieces of every size: ${client}`, async () => {
        await using gate = await startGateway({
          upstream: { accounts: ['north'], manners: { noCompactPath: false } },
          config: (draft) => {
            draft.accounts[0].compact = form;
          },
        });
        const [path, body] = CLIENTS[client];
        for (const size of [1, 2, 3, 7, 16, 61]) {
          gate.upstream.next('north', [replyBytes(bytes, { headers: { 'content-type': type } }), { kind: 'drip', bytes: size }]);
          const reply = await gate.send(path, { body });
          assert.deepEqual([reply.status, itemsIn(reply)], [200, [SEALED]], `${size}: ${reply.text}`);
        }
      });
    }
  });
}
