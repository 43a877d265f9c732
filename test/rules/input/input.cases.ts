// The forms of a request other than its tools: lists, parameters, audio, and the reasoning context.
import type { ErrorCode } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { asks, type Case, invalidAt } from '../tools/case.ts';

const NO_LISTS: readonly Json[] = [{}, { 0: 'x', length: 1 }, 7, 0, true, false];
const KINDS = ['responses', 'public-responses'] as const;

export const INPUT_LISTS: readonly Case[] = [
  ...KINDS.flatMap((kind): Case[] => [
    ...NO_LISTS.flatMap((value): Case[] => [
      { clause: 'F1.6', kind, name: `input ${JSON.stringify(value)}`, body: asks({ input: value }), refused: invalidAt('input') },
      { clause: 'F1.6', kind, name: `tools ${JSON.stringify(value)}`, body: asks({ tools: value }), refused: invalidAt('tools') },
    ]),
    { clause: 'F1.6', kind, name: 'tools as a string', body: asks({ tools: 'web_search' }), refused: invalidAt('tools') },
    { clause: 'F1.6', kind, name: 'lists', body: asks({ input: [], tools: [] }) },
    { clause: 'F1.6', kind, name: 'absent', body: { model: 'model-a' } },
    {
      clause: 'Q15',
      kind,
      name: 'nulls count as absent',
      body: asks({ input: null, tools: null }),
      sends: { input: undefined, tools: undefined },
    },
  ]),
  { clause: 'F1.6', kind: 'responses', name: 'a string input', body: asks({ input: 'hi' }), refused: invalidAt('input') },
  { clause: 'F1.6', kind: 'compact', name: 'compaction takes what the provider takes', body: asks({ input: 'hi', tools: {} }) },
  {
    clause: 'F1.6',
    kind: 'public-responses',
    name: 'a string input',
    body: asks({ input: ' hi ' }),
    sends: { input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: ' hi ' }] }] },
  },
];

const unsupported = (member: string, value: Json): Case => ({
  clause: 'Q15',
  kind: 'public-responses',
  name: `${member} ${JSON.stringify(value)} asks for something`,
  body: asks({ [member]: value }),
  refused: { code: 'unsupported_parameter' satisfies ErrorCode, param: member },
});
const neutral = (members: JsonObject): Case => ({
  clause: 'Q15',
  kind: 'public-responses',
  name: `${JSON.stringify(members)} asks for nothing, and is not sent`,
  body: asks(members),
  sends: Object.fromEntries(Object.keys(members).map((name) => [name, undefined])),
});

export const UNSUPPORTED_PARAMETERS: readonly Case[] = [
  unsupported('background', true),
  unsupported('conversation', 'conv_1'),
  unsupported('conversation', { id: 'conv_1' }),
  unsupported('prompt', { id: 'pmpt_1' }),
  unsupported('prompt', ''),
  unsupported('top_logprobs', 5),
  unsupported('top_logprobs', -1),
  unsupported('top_logprobs', '0'),
  neutral({ background: false, conversation: null, prompt: null, top_logprobs: 0 }),
  neutral({ background: null, top_logprobs: null }),
  {
    clause: 'Q15',
    kind: 'public-responses',
    name: 'unknown keys pass, and so do invalid values of known ones',
    body: asks({ logprobs: 1, prompts: 1, novel: { background: true }, constructor: 1, background: 'yes' }),
  },
  {
    clause: 'Q15',
    kind: 'responses',
    name: 'native routes pass body keys',
    body: asks({ background: true, conversation: 'conv_1', prompt: {}, top_logprobs: 5 }),
  },
];

const DATA = 'UklGRg==';
const part = (input_audio: Json): JsonObject => ({ type: 'input_audio', input_audio });

/** The same audio part in a message of each surface that takes audio. */
const withAudio = (clause: string, name: string, audio: Json, rest: Partial<Case> & { readonly below?: string } = {}): readonly Case[] => {
  const { below, ...others } = rest;
  const content = [{ type: 'input_text', text: 'listen' }, part(audio)];
  const refused = (member: string) => (below === undefined ? {} : { refused: invalidAt(`${member}.1.content.1.input_audio${below}`) });
  const first = { role: 'user', content: 'hi' };
  return [
    {
      clause,
      name,
      kind: 'public-responses',
      body: asks({ input: [first, { type: 'message', role: 'user', content }] }),
      ...refused('input'),
      ...others,
    },
    {
      clause,
      name: `${name}, untyped`,
      kind: 'public-responses',
      body: asks({ input: [first, { role: 'user', content }] }),
      ...refused('input'),
      ...others,
    },
    {
      clause,
      name,
      kind: 'chat',
      body: { model: 'model-a', messages: [first, { role: 'user', content: [{ type: 'text', text: 'listen' }, part(audio)] }] },
      ...refused('messages'),
      ...others,
    },
  ];
};

export const AUDIO: readonly Case[] = [
  ...['wav', 'mp3', 'm4a', 'webm', 'ogg'].flatMap((format) => withAudio('F1.2', format, { data: DATA, format })),
  ...[undefined, null, '', 'WAV', 'flac', 'audio/wav', ' wav', '__proto__', 7].flatMap((format) =>
    withAudio(
      'F1.2',
      `format ${JSON.stringify(format)}`,
      { data: DATA, ...(format === undefined ? {} : { format }) },
      { below: '.format' },
    ),
  ),
  ...[
    undefined,
    null,
    '',
    7,
    [DATA],
    'UklGRg',
    'UklGRg=',
    'UklGRg===',
    'UklG=Rg=',
    '====',
    '=',
    'UklG====',
    'UklGRg==\n',
    'Ukl GRg=',
    'Ukl-',
    'Ukl_',
    'Uklé',
    `data:audio/wav;base64,${DATA}`,
  ].flatMap((data) =>
    withAudio('F1.2', `data ${JSON.stringify(data)}`, { format: 'wav', ...(data === undefined ? {} : { data }) }, { below: '.data' }),
  ),
  ...[null, 'x', [], 7].flatMap((audio) => withAudio('F1.2', `audio ${JSON.stringify(audio)}`, audio, { below: '' })),
  ...['AAAAAAAA', 'AAAAAAA=', 'AAAAAA=='].flatMap((data, spare) => {
    const bytes = 6 - spare;
    return [
      ...withAudio('F1.2', `${bytes} bytes of ${bytes}`, { data, format: 'ogg' }, { audioBytes: bytes }),
      ...withAudio('F1.2', `${bytes} bytes of ${bytes - 1}`, { data, format: 'ogg' }, { audioBytes: bytes - 1, below: '.data' }),
    ];
  }),
  ...[8, 7].map(
    (audioBytes): Case => ({
      clause: 'F1.2',
      kind: 'public-responses',
      name: `8 bytes in two messages of ${audioBytes}`,
      body: asks({ input: [1, 2].map(() => ({ role: 'user', content: [part({ data: DATA, format: 'wav' })] })) }),
      audioBytes,
      ...(audioBytes < 8 ? { refused: invalidAt('input.1.content.0.input_audio.data') } : {}),
    }),
  ),
  {
    clause: 'F1.2',
    kind: 'public-responses',
    name: 'only audio parts of a message are checked',
    body: asks({
      input: [
        null,
        7,
        'x',
        [part(null)],
        { content: null },
        { content: part(null) },
        { content: [null, 'input_audio', [part(null)], { type: 'audio' }] },
      ],
    }),
  },
  {
    clause: 'F1.2',
    kind: 'responses',
    name: 'native routes leave audio to the provider',
    body: asks({ input: [{ role: 'user', content: [part(null)] }] }),
  },
];

const context = (value: Json): JsonObject => asks({ reasoning: { effort: 'low', context: value } });

export const REASONING_CONTEXT: readonly Case[] = [
  ...(['auto', 'current_turn', 'all_turns'] as const).flatMap((word): Case[] => [
    { clause: 'F1.7', kind: 'public-responses', name: word, body: context(word) },
    {
      clause: 'F1.7',
      kind: 'public-responses',
      name: `${word} in capitals between blanks`,
      body: context(` \t${word.toUpperCase()}\n`),
      sends: { reasoning: { effort: 'low', context: word } },
    },
  ]),
  ...(['', ' ', 'none', 'all turns', 'constructor', null, 7, true, ['auto'], { auto: 1 }] as const).map(
    (value): Case => ({
      clause: 'F1.7',
      kind: 'public-responses',
      name: `context ${JSON.stringify(value)}`,
      body: context(value),
      refused: invalidAt('reasoning.context'),
    }),
  ),
  ...(['auto', 7, true, []] as const).map(
    (reasoning): Case => ({
      clause: 'F1.7',
      kind: 'public-responses',
      name: `reasoning ${JSON.stringify(reasoning)}`,
      body: asks({ reasoning }),
      refused: invalidAt('reasoning'),
    }),
  ),
  { clause: 'F1.7', kind: 'public-responses', name: 'no context', body: asks({ reasoning: { effort: 'low' } }) },
  { clause: 'F1.7', kind: 'public-responses', name: 'null reasoning', body: asks({ reasoning: null }) },
  { clause: 'F1.7', kind: 'responses', name: 'native routes pass a context as sent', body: context(' Novel ') },
];

const said: Json = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };
const call: Json = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look_up', arguments: '{}' };
const output: Json = { type: 'function_call_output', call_id: 'call_1', output: 'found' };
const reference = (id: Json): Json => ({ type: 'item_reference', id });

/** References to items other than reasoning. */
const LOST: readonly Json[] = [
  reference('msg_1'),
  reference('fc_1'),
  reference('ctc_1'),
  reference('cmp_1'),
  reference('RS_1'),
  reference(''),
  reference(null),
  reference(7),
  { type: 'item_reference' },
  { type: null, id: 'msg_1' },
  { id: 'msg_1' },
];

export const ITEM_REFERENCES: readonly Case[] = [
  {
    clause: 'Q15',
    kind: 'public-responses',
    name: 'references to reasoning are dropped, wherever they are, and the other items stay in order',
    body: asks({ input: [reference('rs_0'), said, reference('rs_1'), call, output, { type: null, id: 'rs_2' }, { id: 'rs_3' }] }),
    sends: { input: [said, call, output] },
  },
  {
    clause: 'Q15',
    kind: 'public-responses',
    name: 'an input that has only references to reasoning becomes empty',
    body: asks({ input: [reference('rs_1')] }),
    sends: { input: [] },
  },
  ...LOST.map(
    (item): Case => ({
      clause: 'Q15',
      kind: 'public-responses',
      name: `${JSON.stringify(item)} refers to an item that is not stored`,
      body: asks({ input: [said, reference('rs_1'), item] }),
      refused: invalidAt('input.2'),
    }),
  ),
  {
    clause: 'Q15',
    kind: 'public-responses',
    name: 'items with an id of their own are not references',
    body: asks({ input: [{ id: 'msg_1', role: 'user', content: 'hi' }, call, { type: 'reasoning', id: 'rs_1', summary: [] }] }),
  },
  {
    clause: 'Q15',
    kind: 'responses',
    name: 'native references pass',
    body: asks({ input: [said, reference('rs_1'), reference('msg_1')] }),
  },
];
