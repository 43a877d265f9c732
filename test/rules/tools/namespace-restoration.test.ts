// Runs the table of restored namespaces in every place in which a public answer has an item.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Event } from '../../../proxy/turn/turn.ts';
import { namespaceRestoration } from '../../../rules/tools/namespace-restoration.ts';
import { frozen, run } from '../../support/turns/turn.ts';
import { asks } from './case.ts';
import { DECLARING, RESTORATIONS } from './namespace-restoration.cases.ts';

const PUBLIC = { kind: 'public-responses' } as const;
const asSent = <T extends Json>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

for (const { name, item, restored } of RESTORATIONS) {
  test(`[F5.4] ${name}`, async () => {
    const [before, after] = [frozen(asSent(item)), asSent(restored ?? item)];
    const other = { type: 'message', id: 'msg_1', content: [] };
    const ran = await run([namespaceRestoration], asSent(DECLARING), PUBLIC);
    for (const type of ['response.output_item.added', 'response.output_item.done']) {
      const event = { type, data: frozen({ type, sequence_number: 3, output_index: 0, item: before }) };
      same(ran.event(event), event, { ...event.data, item: after }, restored !== undefined);
    }
    for (const type of ['response.completed', 'response.incomplete', 'response.failed']) {
      const event = { type, data: frozen({ type, response: { id: 'resp_1', output: [other, before, before] } }) };
      same(ran.event(event), event, { type, response: { id: 'resp_1', output: [other, after, after] } }, restored !== undefined);
    }
    const response = frozen({ id: 'resp_1', output: [before, other] });
    const answer = ran.rules.answer(response);
    assert.deepEqual(answer, { id: 'resp_1', output: [after, other] });
    if (restored === undefined) assert.equal(answer, response);
  });
}

function same(events: readonly Event[], event: Event, data: JsonObject, changed: boolean): void {
  assert.deepEqual(
    events.map((one) => ({ type: one.type, data: one.data })),
    [{ type: event.type, data }],
  );
  if (!changed) assert.equal(events[0], event, 'an event that does not change is forwarded as it came');
}

test('without custom tools in namespaces no event of the reply is parsed', async () => {
  for (const tools of [
    undefined,
    null,
    [],
    'x',
    [null],
    [{ type: 'custom', name: 'flat' }],
    [{ type: 'namespace', tools: [{ type: 'custom' }] }],
  ]) {
    const body = { ...asks(tools === undefined ? {} : { tools: tools as Json }) };
    const { rules } = await run([namespaceRestoration], body, PUBLIC);
    assert.equal(rules.wants('response.output_item.done'), false);
  }
});

test('malformed answers pass as they came', async () => {
  const ran = await run([namespaceRestoration], asSent(DECLARING), PUBLIC);
  for (const data of [
    {},
    { item: 7 },
    { response: null },
    { response: [] },
    { response: { output: null } },
    { response: { output: [null, 7, []] } },
  ]) {
    const event: Event = { type: 'response.completed', data: frozen(data as JsonObject) };
    assert.equal(ran.event(event)[0], event);
  }
});
