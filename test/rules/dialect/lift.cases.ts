// Which texts of the compatible surface become instructions in Full, and which stay in the input.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { TurnOptions } from '../../support/turns/turn.ts';
import { type Case, LITE } from './case.ts';

const options: TurnOptions = { kind: 'public-responses' };
const text = (value: string): JsonObject => ({ type: 'input_text', text: value });
const message = (role: string, content: Json): JsonObject => ({ type: 'message', role, content });
const user = message('user', [text('hi')]);
const image: JsonObject = { type: 'input_image', image_url: 'https://example.test/a.png' };

export const LIFT: readonly Case[] = [
  {
    name: '[F1.1] the text of a system message is lifted',
    options,
    body: { input: [message('system', 'Be brief.'), user] },
    changes: { input: [user], instructions: 'Be brief.' },
  },
  {
    name: '[F1.1] the text of a developer message is lifted',
    options,
    body: { input: [message('developer', [text('Be brief.')]), user] },
    changes: { input: [user], instructions: 'Be brief.' },
  },
  {
    name: '[F1.1] a message without a type is one on this surface',
    options,
    body: { input: [{ role: 'system', content: 'Be brief.' }, user] },
    changes: { input: [user], instructions: 'Be brief.' },
  },
  {
    name: '[F1.1] so is one whose type is null',
    options,
    body: { input: [{ type: null, role: 'system', content: 'Be brief.' }, user] },
    changes: { input: [user], instructions: 'Be brief.' },
  },
  {
    name: '[Q32] texts join with a blank line after the instructions of the client',
    options,
    body: { instructions: 'One.', input: [message('system', 'Two.'), user, message('developer', [text('Three.'), text('Four.')])] },
    changes: { instructions: 'One.\n\nTwo.\n\nThree.\n\nFour.', input: [user] },
  },
  {
    name: '[F1.1] null instructions count as none',
    options,
    body: { instructions: null, input: [message('system', 'Two.'), user] },
    changes: { instructions: 'Two.', input: [user] },
  },
  {
    name: '[Q32] parts that are no text stay in input',
    options,
    body: { input: [{ ...message('developer', [text('See:'), image]), id: 'msg_1' }, user] },
    changes: { instructions: 'See:', input: [{ ...message('developer', [image]), id: 'msg_1' }, user] },
  },
  { name: '[Q32] a message of other parts alone stays as it is', options, body: { input: [message('developer', [image]), user] } },
  {
    name: '[F1.1] a blank text leaves nothing behind',
    options,
    body: { input: [message('system', '  '), message('developer', []), user] },
    changes: { input: [user] },
  },
  {
    name: '[F1.1] texts keep their own blanks',
    options,
    body: { input: [message('system', '  a\n'), user] },
    changes: { input: [user], instructions: '  a\n' },
  },
  {
    name: '[F1.1] where nothing else remains, the input is not left empty',
    options,
    body: { input: [message('system', 'Greet the user.'), message('developer', [text('Be brief.')])] },
    changes: { instructions: 'Greet the user.\n\nBe brief.', input: [message('user', [text('Follow the instructions.')])] },
  },
  {
    name: '[F1.1] an input that continues a response may be empty',
    options: { ...options, client: 'websocket' },
    body: { previous_response_id: 'resp_1', input: [message('system', 'Be brief.')] },
    changes: { instructions: 'Be brief.', input: [] },
  },
  {
    name: '[F1.1] the input of a prewarm may be empty too',
    options: { ...options, client: 'websocket' },
    body: { generate: false, input: [message('developer', 'Be brief.')] },
    changes: { instructions: 'Be brief.', input: [] },
  },
  {
    name: '[F1.1] an empty message leaves nothing',
    options,
    body: { input: [message('system', ' ')] },
    changes: { input: [] },
  },
  {
    name: '[F1.1] messages of users and assistants stay',
    options,
    body: { instructions: 'One.', input: [user, message('assistant', 'x')] },
  },
  {
    name: '[F1.1] a developer item that is no message stays',
    options,
    body: { input: [{ type: 'additional_tools', role: 'developer', tools: [] }, user] },
  },
  {
    name: '[F1.1] content of an unknown shape is left to the provider',
    options,
    body: {
      input: [message('developer', null), message('developer', { text: 'x' }), message('developer', [{ type: 'input_text', text: 5 }])],
    },
  },
  { name: '[F1.1] items that are no objects stay', options, body: { input: [null, 'system', 7, user] } },
  {
    name: '[F1.1] Chat turns are lifted after their translation',
    options: { kind: 'chat' },
    body: { input: [message('system', 'Be brief.'), user] },
    changes: { input: [user], instructions: 'Be brief.' },
  },
  {
    name: '[Q32] native turns keep their developer messages',
    options: { kind: 'responses' },
    body: { input: [message('developer', [text('Be brief.')]), user] },
  },
  {
    name: '[F1.1] in Lite they stay in input',
    options: { ...options, model: { mode: LITE } },
    body: { input: [message('developer', 'Be brief.'), user] },
  },
];

/** These rows run after the lifting, because a backend accepts only developer messages. */
export const SYSTEM_ROLE: readonly Case[] = [
  {
    name: '[F2.6] in Lite a system message stays in its place, as a developer message',
    options: { ...options, model: { mode: LITE } },
    body: { input: [user, message('system', [text('Be brief.'), image]), { role: 'system', content: 'a', id: 'msg_1' }] },
    changes: { input: [user, message('developer', [text('Be brief.'), image]), { role: 'developer', content: 'a', id: 'msg_1' }] },
  },
  {
    name: '[F2.6] in Lite, one of Chat too',
    options: { kind: 'chat', model: { mode: LITE } },
    body: { input: [message('system', [text('Be brief.')]), user] },
    changes: { input: [message('developer', [text('Be brief.')]), user] },
  },
  {
    name: '[Q32] parts of a system message that cannot be lifted stay as a developer message',
    options,
    body: { input: [message('system', [text('See:'), image]), user] },
    changes: { instructions: 'See:', input: [message('developer', [image]), user] },
  },
  {
    name: '[F1.1] other roles, and items that are no messages, keep theirs',
    options: { ...options, model: { mode: LITE } },
    body: { input: [{ type: 'novel', role: 'system' }, user, message('assistant', 'x'), null] },
  },
  {
    name: '[RB9] a system message of a native turn is a developer message',
    options: { kind: 'responses', model: { mode: LITE } },
    body: { input: [message('system', 'Be brief.'), user] },
    changes: { input: [message('developer', 'Be brief.'), user] },
  },
];

const JSON_MODE = { format: { type: 'json_object' } };
const reminder = text('Answer in JSON, as the instructions say.');

/** These rows run after the lifting, because in JSON mode providers require the word JSON in a message of `input`. */
export const JSON_MENTION: readonly Case[] = [
  {
    name: '[F1.1] JSON mode whose only mention is lifted has it in the first user message too',
    options,
    body: { text: JSON_MODE, input: [message('system', 'Reply in json.'), user, message('assistant', 'x'), message('user', 'more')] },
    changes: {
      instructions: 'Reply in json.',
      input: [message('user', [text('hi'), reminder]), message('assistant', 'x'), message('user', 'more')],
    },
  },
  {
    name: '[F1.1] JSON mode of Chat too',
    options: { kind: 'chat' },
    body: { text: JSON_MODE, input: [message('system', 'Reply in JSON.'), user] },
    changes: { instructions: 'Reply in JSON.', input: [message('user', [text('hi'), reminder])] },
  },
  {
    name: '[F1.1] a content that is a string becomes a part beside it',
    options,
    body: { text: JSON_MODE, input: [message('system', 'Reply in JSON.'), { role: 'user', content: 'hi' }] },
    changes: { instructions: 'Reply in JSON.', input: [{ role: 'user', content: [text('hi'), reminder] }] },
  },
  {
    name: '[F1.1] a mention in any message of input is enough',
    options,
    body: { text: JSON_MODE, input: [message('system', 'Reply in JSON.'), user, message('assistant', '{"Json": 1}')] },
    changes: { instructions: 'Reply in JSON.', input: [user, message('assistant', '{"Json": 1}')] },
  },
  {
    name: '[F1.1] without any mention nothing is added, and the provider refuses the turn',
    options,
    body: { text: JSON_MODE, input: [message('system', 'Be brief.'), user] },
    changes: { instructions: 'Be brief.', input: [user] },
  },
  {
    name: '[F1.1] other formats need no mention',
    options,
    body: { text: { format: { type: 'text' } }, input: [message('system', 'Reply in JSON.'), user] },
    changes: { instructions: 'Reply in JSON.', input: [user] },
  },
  {
    name: '[F1.1] in Lite the mention stays where it is',
    options: { ...options, model: { mode: LITE } },
    body: { text: JSON_MODE, input: [message('developer', 'Reply in JSON.'), user] },
  },
  {
    name: '[Q32] native turns are not looked at',
    options: { kind: 'responses' },
    body: { text: JSON_MODE, instructions: 'Reply in JSON.', input: [user] },
  },
];
