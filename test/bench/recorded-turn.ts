// A recorded turn of a native client, enlarged to 40 KB.
import { readFileSync } from 'node:fs';
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';

const BODY_BYTES = 40_000;

/**
 * The turn as JSON. Recordings have shortened texts and fewer tools than a first turn has, so the turn gets more items of the same form.
 */
export function recordedTurn(): string {
  const recorded = new URL('../fixtures/native/full-turn.json', import.meta.url);
  const { body } = JSON.parse(readFileSync(recorded, 'utf8')) as { body: Body & { input: readonly Json[]; tools: readonly JsonObject[] } };
  const text = JSON.stringify({ ...body, input: [...body.input, ...body.input, ...body.input] });
  const filler = 'Read the file, change what is asked, and say what was done. '.repeat((BODY_BYTES - text.length) / 60);
  const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text: filler }] };
  return JSON.stringify({ ...body, model: 'model-a', input: [...body.input, message, ...body.input, ...body.input] });
}
