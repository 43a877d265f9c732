// A collected reply passes `event` and then `answer`: `answer` keeps the changes that `event` made in the final response.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Event } from '../../../proxy/turn/turn.ts';
import { RULES } from '../../../rules/index.ts';
import { frozen, run, type TurnOptions } from '../../support/turns/turn.ts';
import { DECLARING, RESTORATIONS } from '../tools/namespace-restoration.cases.ts';

const BOTH = RULES.filter(({ event, answer }) => event && answer);

/** A final response that each of these rules changes. */
const item = RESTORATIONS.find(({ restored }) => restored !== undefined)?.item ?? assert.fail('no case restores a namespace');
const usage = { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 1 };
const PROVIDED: JsonObject = frozen({ id: 'resp_1', model: 'theirs', status: 'completed', output: [], usage });

const eventOf = (type: string, more: JsonObject): Event => frozen({ type, data: { type, ...more } });

async function finalResponse(options: TurnOptions) {
  const ran = await run(BOTH, DECLARING, options);
  ran.event(eventOf('response.output_item.done', { output_index: 0, item }));
  const [terminal] = ran.event(eventOf('response.completed', { response: PROVIDED }));
  return { ran, mapped: frozen(terminal?.data.response as JsonObject) };
}

test('the rules that have both phases are known', () => {
  assert.deepEqual(
    BOTH.map(({ name }) => name),
    ['public-model', 'fill-output', 'namespace-restoration', 'public-user', 'usage'],
  );
});

test('[Q15] answer changes nothing of a final response that event has mapped', async () => {
  const { ran, mapped } = await finalResponse({ kind: 'public-responses' });
  assert.deepEqual([mapped.model, (mapped.output as readonly JsonObject[]).length], ['model-a', 1], 'event had something to do');
  const noted = { ...ran.turn.noted };
  assert.deepEqual(ran.rules.answer(mapped), mapped);
  assert.deepEqual(ran.turn.noted, noted);
});

test('[Q15] event and answer map a final response in the same way', async () => {
  const { mapped } = await finalResponse({ kind: 'public-responses' });
  const ran = await run(BOTH, DECLARING, { kind: 'public-responses' });
  ran.event(eventOf('response.output_item.done', { output_index: 0, item }));
  assert.deepEqual(ran.rules.answer(PROVIDED), mapped);
});
