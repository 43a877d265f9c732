// Every way in which a client can run a turn: its path, its body, the form of its reply, and the model under which it is settled.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { FORM_TYPE, formOf } from '../../support/form.ts';
import { IMAGE_MODEL, imagePart, PNG_URL } from '../../support/stages/images.ts';
import type { Shape } from './deliveries.ts';

/** The client's text. */
export interface Prompt {
  readonly text: string;
  readonly image: boolean;
  readonly audio: boolean;
}

export interface Asked {
  readonly prompt: Prompt;
  readonly model: string;
  /** The output cap of the client. */
  readonly cap: number;
}

export interface Sent {
  readonly body: JsonObject | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ClientRoute {
  readonly path: string;
  readonly carrier: 'http' | 'websocket';
  readonly shape: Shape;
  /** Whether the client gets output before the end. */
  readonly streams: boolean;
  /** Whether usage is reserved, and estimated if it is not stated. */
  readonly metered: boolean;
  /** Whether its requests use no tokens, so that nothing of them is unknown. */
  readonly usesNoTokens?: true;
  /** The model under which a turn is settled; null for a turn without one. */
  readonly model: (asked: Asked, pool: string) => string | null;
  /** Whether a model of the Pool's catalog serves the turn, so that the model is a label of metrics. */
  readonly hosted: boolean;
  /** The parts that the prompt may have in addition to text. */
  readonly parts: 'any' | 'none' | 'one image';
  readonly send: (asked: Asked) => Sent;
}

/** One second of 8,000 one-byte samples, with the matching header. */
const WAV = (() => {
  const head = Buffer.from('RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0', 'latin1');
  const rates = Buffer.alloc(12);
  rates.writeUInt32LE(8_000, 0);
  rates.writeUInt32LE(8_000, 4);
  rates.writeUInt16LE(1, 8);
  rates.writeUInt16LE(8, 10);
  return Buffer.concat([head, rates, Buffer.alloc(8_000 - head.length - rates.length)]).toString('base64');
})();

/** Q19: UTF-8 bytes over 4, 1,000 for an image, 25 for a second of audio. */
export const inputEstimate = ({ text, image, audio }: Prompt): number =>
  Math.ceil(Buffer.byteLength(text) / 4) + (image ? 1_000 : 0) + (audio ? 25 : 0);

const inputOf = ({ text, image, audio }: Prompt): readonly JsonObject[] => [
  {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text },
      ...(image ? [{ type: 'input_image', image_url: PNG_URL }] : []),
      ...(audio ? [{ type: 'input_audio', input_audio: { data: WAV, format: 'wav' } }] : []),
    ],
  },
];

const responsesBody = ({ prompt, model, cap }: Asked): JsonObject => ({ model, input: inputOf(prompt), max_output_tokens: cap });

const chatBody = ({ prompt: { text, image, audio }, model, cap }: Asked): JsonObject => ({
  model,
  max_completion_tokens: cap,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text },
        ...(image ? [{ type: 'image_url', image_url: { url: PNG_URL } }] : []),
        ...(audio ? [{ type: 'input_audio', input_audio: { data: WAV, format: 'wav' } }] : []),
      ],
    },
  ],
});

const compactionBody = (asked: Asked): JsonObject => {
  const body = responsesBody(asked);
  return { ...body, input: [...(body.input as readonly JsonObject[]), { type: 'compaction_trigger' }] };
};

/** An image route takes the images of a prompt as members, not as parts of a message. */
const imageBody = ({ prompt: { text }, cap }: Asked): JsonObject => ({ model: IMAGE_MODEL, prompt: text, max_output_tokens: cap });

const sound = (text: string, ...more: readonly (readonly [string, string])[]): Sent => {
  const fields = [['prompt', text], ['model', 'gpt-4o-transcribe'], ...more].map(([name = '', value = '']) => ({ name, value }));
  const file = { name: 'file', filename: 'voice.wav', type: 'audio/wav', value: Buffer.from('RIFF a voice') };
  return { body: formOf([...fields, file]), headers: { 'content-type': FORM_TYPE } };
};

const text = { metered: true, hosted: true, parts: 'any', model: ({ model }: Asked) => model } as const;
const streamed = { ...text, carrier: 'http', shape: 'events', streams: true } as const;
const collected = { ...streamed, streams: false } as const;
const image = { metered: true, hosted: true, parts: 'none', carrier: 'http', streams: false } as const;
/**
 * The Pool `team` has a price for the image model. A model name that no Pool knows is a text of the client, so the host model replaces it
 * if there is one.
 */
const nativeImage = { ...image, model: (_: Asked, pool: string) => (pool === 'team' ? IMAGE_MODEL : null) } as const;
const publicImage = { ...image, model: (_: Asked, pool: string) => (pool === 'team' ? IMAGE_MODEL : 'model-a') } as const;
const unmetered = { metered: false, hosted: false, parts: 'none', carrier: 'http', streams: false } as const;
const audio = { ...unmetered, model: () => 'gpt-4o-transcribe' } as const;
const opaque = { ...unmetered, shape: 'opaque', model: () => null } as const;
const uploaded = { ...opaque, usesNoTokens: true } as const;

const NATIVE = '/backend-api/agent/responses';
const NATIVE_IMAGES = '/backend-api/agent/images/generations';

export const ROUTES = {
  'native, streamed': { ...streamed, path: NATIVE, send: (asked) => ({ body: { ...responsesBody(asked), stream: true } }) },
  'native alias, streamed': {
    ...streamed,
    path: '/backend-api/agent/v1/responses',
    send: (asked) => ({ body: { ...responsesBody(asked), stream: true } }),
  },
  'native, one answer': { ...collected, shape: 'json', path: NATIVE, send: (asked) => ({ body: responsesBody(asked) }) },
  'public, streamed': { ...streamed, path: '/v1/responses', send: (asked) => ({ body: { ...responsesBody(asked), stream: true } }) },
  'public, collected': { ...collected, path: '/v1/responses', send: (asked) => ({ body: responsesBody(asked) }) },
  'Chat, streamed': { ...streamed, path: '/v1/chat/completions', send: (asked) => ({ body: { ...chatBody(asked), stream: true } }) },
  'Chat, collected': { ...collected, path: '/v1/chat/completions', send: (asked) => ({ body: chatBody(asked) }) },
  'Chat alias, streamed': {
    ...streamed,
    path: '/backend-api/agent/v1/chat/completions',
    send: (asked) => ({ body: { ...chatBody(asked), stream: true } }),
  },
  'native websocket': {
    ...streamed,
    carrier: 'websocket',
    path: NATIVE,
    send: (asked) => ({ body: { type: 'response.create', ...responsesBody(asked) } }),
  },
  'public websocket': {
    ...streamed,
    carrier: 'websocket',
    path: '/v1/responses',
    send: (asked) => ({ body: { type: 'response.create', ...responsesBody(asked) } }),
  },
  'native compaction': { ...collected, shape: 'compaction', path: `${NATIVE}/compact`, send: (asked) => ({ body: responsesBody(asked) }) },
  'public compaction': { ...collected, shape: 'compaction', path: '/v1/responses', send: (asked) => ({ body: compactionBody(asked) }) },
  'public compaction, streamed': {
    ...collected,
    shape: 'compaction',
    path: '/v1/responses',
    send: (asked) => ({ body: { ...compactionBody(asked), stream: true } }),
  },
  'public compaction on a websocket': {
    ...collected,
    shape: 'compaction',
    carrier: 'websocket',
    path: '/v1/responses',
    send: (asked) => ({ body: { type: 'response.create', ...compactionBody(asked) } }),
  },
  'native image': { ...nativeImage, shape: 'image', path: NATIVE_IMAGES, send: (asked) => ({ body: imageBody(asked) }) },
  'native image, streamed': {
    ...nativeImage,
    shape: 'image events',
    path: NATIVE_IMAGES,
    send: (asked) => ({ body: { ...imageBody(asked), stream: true } }),
  },
  'public image': {
    ...publicImage,
    shape: 'hosted image',
    path: '/v1/images/generations',
    send: ({ prompt }) => ({ body: { model: IMAGE_MODEL, prompt: prompt.text } }),
  },
  'public image edit': {
    ...publicImage,
    parts: 'one image',
    shape: 'hosted image',
    path: '/v1/images/edits',
    send: ({ prompt }) => ({
      body: formOf([{ name: 'model', value: IMAGE_MODEL }, { name: 'prompt', value: prompt.text }, imagePart('image')]),
      headers: { 'content-type': FORM_TYPE },
    }),
  },
  'public transcription': { ...audio, shape: 'transcript', path: '/v1/audio/transcriptions', send: ({ prompt }) => sound(prompt.text) },
  'native transcription': { ...audio, shape: 'transcript', path: '/backend-api/transcribe', send: ({ prompt }) => sound(prompt.text) },
  'public transcription as text': {
    ...audio,
    shape: 'transcript text',
    path: '/v1/audio/transcriptions',
    send: ({ prompt }) => sound(prompt.text, ['response_format', 'text']),
  },
  'native file': { ...uploaded, path: '/backend-api/files', send: ({ prompt }) => ({ body: fileOf(prompt.text) }) },
  'public file': {
    ...uploaded,
    path: '/v1/files',
    send: ({ prompt }) => ({
      body: formOf([
        { name: 'purpose', value: 'user_data' },
        { name: 'file', filename: `${prompt.text.slice(0, 20)}.txt`, type: 'text/plain', value: 'bytes' },
      ]),
      headers: { 'content-type': FORM_TYPE },
    }),
  },
  'pass-through': { ...opaque, path: '/backend-api/agent/alpha/search', send: ({ prompt }) => ({ body: fileOf(prompt.text) }) },
} as const satisfies Readonly<Record<string, ClientRoute>>;

export type RouteName = keyof typeof ROUTES;

const fileOf = (name: string): JsonObject => ({ file_name: name, file_size: 5, use_case: 'user_data' });
