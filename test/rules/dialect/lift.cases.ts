// Which texts of the compatible surface become instructions in Full, and what stays in input.
import type { Json, JsonObject } from '../../../proxy/turn/json.ts';
import type { TurnOptions } from '../../support/turn.ts';
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
    name: '[Q32] texts join with a blank line after the instructions of the client',
    options,
    body: { instructions: 'One.', input: [message('system', 'Two.'), user, message('developer', [text('Three.'), text('Four.')])] },
    changes: { instructions: 'One.\n\nTwo.\n\nThree.\n\nFour.', input: [user] },
  },
  {
    name: '[F1.1] null instructions count as none',
    options,
    body: { instructions: null, input: [message('system', 'Two.')] },
    changes: { instructions: 'Two.', input: [] },
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
    body: { input: [message('system', '  a\n')] },
    changes: { input: [], instructions: '  a\n' },
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
    name: '[F1.1] content of no known shape is left to the provider',
    options,
    body: { input: [message('system', null), message('system', { text: 'x' }), message('developer', [{ type: 'input_text', text: 5 }])] },
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
    body: { input: [message('system', 'Be brief.'), user] },
  },
];
