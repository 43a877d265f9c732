// Compaction as clients request it and send it back: the position of the trigger, and the form of the replayed item.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { asks, type Case, invalidAt } from '../tools/case.ts';

const user = (text: string): JsonObject => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const developer: JsonObject = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be short.' }] };
const trigger: JsonObject = { type: 'compaction_trigger' };
const sealed: JsonObject = { type: 'compaction', encrypted_content: 'gAAAA-sealed' };

const at = (name: string, ...input: readonly Json[]): Case => ({
  clause: 'F3.1',
  kind: 'public-responses',
  name,
  body: asks({ input }),
  refused: invalidAt('input'),
});

/** Requests of clients; a trigger in their input makes them compactions. */
export const MISPLACED_TRIGGERS: readonly Case[] = [
  at('a trigger alone', trigger),
  at('a trigger before the input', trigger, user('hi')),
  at('a trigger amid the input', user('hi'), trigger, user('more')),
  at('two triggers', user('hi'), trigger, trigger),
  at('a trigger before and behind', trigger, user('hi'), trigger),
  at('a trigger behind instructions alone', developer, trigger),
  at('a trigger behind a compaction alone', sealed, trigger),
  at('a trigger behind reasoning alone', { type: 'reasoning', summary: [], encrypted_content: 'gAAAA-thought' }, trigger),
  at('a trigger behind tools alone', { type: 'additional_tools', role: 'developer', tools: [] }, trigger),
  at('a trigger behind a reference alone', { type: 'item_reference', id: 'rs_1' }, trigger),
  at('a trigger behind what is no item', 'hi', trigger),
];

const replays = (name: string, input: readonly Json[], more: Partial<Case> = {}, members: JsonObject = {}): Case => ({
  clause: 'F3.4',
  kind: 'public-responses',
  name,
  body: asks({ input, ...members }),
  ...more,
});

const malformed = (name: string, item: JsonObject, path: string): Case =>
  replays(name, [user('before'), item, user('more')], { refused: invalidAt(`input.1${path}`) });

export const REPLAYS: readonly Case[] = [
  replays('a compaction without id, then new input', [sealed, user('more')], { clause: 'F3.3' }),
  replays('its id is a string', [{ ...sealed, id: 'cmp_1' }, user('more')], { clause: 'F3.3' }),
  replays('its id is null', [{ ...sealed, id: null }, user('more')], { clause: 'F3.3' }),
  replays('its content is opaque', [{ ...sealed, encrypted_content: ' {"a":1} ' }, user('more')], { clause: 'F3.3' }),
  replays('its place is not enforced', [user('more'), sealed], { clause: 'Q33' }),
  replays('a tool loop behind it', [
    sealed,
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'done' },
  ]),
  replays('a later compaction beside it', [sealed, user('more'), { ...sealed, id: 'cmp_2' }]),
  replays('a null anchor is none', [sealed, user('more')], {}, { previous_response_id: null }),
  malformed('an unknown field', { ...sealed, status: 'completed' }, '.status'),
  malformed('an unknown field of null', { ...sealed, created_by: null }, '.created_by'),
  malformed('an unknown field whose name is no name', { ...sealed, 'a secret': 1 }, ''),
  malformed('no content', { type: 'compaction' }, '.encrypted_content'),
  ...['', ' \n', null, 7, true, ['x'], {}].map((encrypted_content) =>
    malformed(`content ${JSON.stringify(encrypted_content)}`, { ...sealed, encrypted_content }, '.encrypted_content'),
  ),
  ...[7, false, [], {}].map((id) => malformed(`an id of ${JSON.stringify(id)}`, { ...sealed, id }, '.id')),
  replays(
    'an anchor beside it',
    [sealed, user('more')],
    { clause: 'Q33', refused: invalidAt('previous_response_id') },
    { previous_response_id: 'resp_1' },
  ),
  replays('nothing beside it', [sealed], { clause: 'Q33', refused: invalidAt('input') }),
  replays('instructions alone beside it', [developer, sealed], { clause: 'Q33', refused: invalidAt('input') }),
  { clause: 'F3.4', kind: 'responses', name: 'native clients replay as they like', body: asks({ input: [{ ...sealed, turn: 1 }] }) },
  { clause: 'F3.4', kind: 'compact', name: 'native compaction takes one too', body: asks({ input: [{ ...sealed, turn: 1 }] }) },
];
