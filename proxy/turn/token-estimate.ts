// Estimates the tokens of a turn from its request, before dispatch (Q19). The estimate is the same in every dialect (F2.14).
import type { Json, JsonObject } from './json/json.ts';
import { type LongTexts, longTextsOf } from './json/long-texts.ts';
import type { Body } from './turn.ts';

/** The estimate of Q18 for all text. */
export const BYTES_PER_TOKEN = 4;
const IMAGE_TOKENS = 1_000;
const AUDIO_TOKENS_PER_SECOND = 25;
/** The rate that is assumed for audio without a WAV header: 128 kbit/s. */
const AUDIO_BYTES_PER_SECOND = 16_000;

/** Body members whose text counts as input tokens. Encrypted content, file data, ids and tool definitions do not count. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  'instructions',
  'input',
  'messages',
  'prompt',
  'content',
  'text',
  'refusal',
  'summary',
  'arguments',
  'output',
  'tool_calls',
  'function',
  'custom',
]);

/** Body members of image edits; each image in them counts. */
const IMAGE_MEMBERS = ['image', 'image[]', 'images', 'mask'] as const;

const IMAGE_TYPES: ReadonlySet<Json | undefined> = new Set(['input_image', 'image_url']);

interface Sum {
  bytes: number;
  tokens: number;
  readonly texts: LongTexts | undefined;
}

/** @param body as the client sent it, because dialects move its parts */
export function inputTokens(body: Body): number {
  const sum = { bytes: 0, tokens: 0, texts: longTextsOf(body) };
  count(body, sum);
  sum.tokens += tokensIn(body.input);
  for (const name of IMAGE_MEMBERS) if (body[name] !== undefined) sum.tokens += IMAGE_TOKENS * [body[name] ?? []].flat().length;
  return tokensOfBytes(sum.bytes) + sum.tokens;
}

/** The tokens of an embedding's input, which may be text, tokens, or lists of tokens (AA80). */
function tokensIn(input: Json | undefined): number {
  const [first] = Array.isArray(input) ? (input as readonly Json[]) : [];
  if (typeof first === 'number')
    return (input as readonly Json[]).every((token) => typeof token === 'number') ? (input as readonly Json[]).length : 0;
  if (!Array.isArray(first) || typeof first[0] !== 'number') return 0;
  return (input as readonly Json[]).reduce((tokens: number, list) => tokens + (Array.isArray(list) ? list.length : 0), 0);
}

/** The smaller of the client's cap and the key's cap. Infinity without a cap, 0 for a turn that generates nothing. */
export function outputCap(body: Body, keyMax: number | undefined): number {
  if (body.generate === false) return 0;
  const caps = [body.max_output_tokens, body.max_completion_tokens, body.max_tokens, keyMax];
  return Math.min(...caps.filter((cap): cap is number => typeof cap === 'number' && cap >= 0));
}

/** The tokens of a UTF-8 text. */
export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

function count(value: Json | undefined, sum: Sum): void {
  if (typeof value === 'string') {
    const parts = sum.texts?.partsOf(value);
    if (!isDataUrl(parts?.[0] ?? value)) sum.bytes += parts ? bytesOf(parts) : Buffer.byteLength(value);
  } else if (Array.isArray(value)) for (const item of value as readonly Json[]) count(item, sum);
  else if (typeof value === 'object' && value !== null) countPart(value as JsonObject, sum);
}

function countPart(part: JsonObject, sum: Sum): void {
  if (IMAGE_TYPES.has(part.type)) sum.tokens += IMAGE_TOKENS;
  else if (part.type === 'input_audio') sum.tokens += Math.ceil(secondsOf(part) * AUDIO_TOKENS_PER_SECOND);
  else for (const name in part) if (TEXT_MEMBERS.has(name)) count(part[name], sum);
}

const bytesOf = (parts: readonly string[]): number => parts.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0);

const isDataUrl = (text: string): boolean => text.startsWith('data:') && /^data:[\w.+/-]*(?:;[\w=.+-]+)*,/.test(text.slice(0, 256));

/** The duration of audio in both forms: `{input_audio: {data, format}}`, and `data` and `format` next to the type. */
function secondsOf(part: JsonObject): number {
  const inner = part.input_audio;
  const audio = typeof inner === 'object' && inner !== null ? (inner as JsonObject) : part;
  if (typeof audio.data !== 'string') return 0;
  const padding = audio.data.endsWith('==') ? 2 : audio.data.endsWith('=') ? 1 : 0;
  const bytes = (audio.data.length * 3) / 4 - padding;
  return bytes / (rateOf(audio.data) ?? AUDIO_BYTES_PER_SECOND);
}

/** Bytes per second from a WAV header in base64. */
function rateOf(data: string): number | undefined {
  const head = Buffer.from(data.slice(0, 64), 'base64');
  if (head.length < 32 || head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') return undefined;
  const rate = head.readUInt32LE(28);
  return rate > 0 ? rate : undefined;
}
