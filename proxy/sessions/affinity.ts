// Prompt-cache affinity: the account that last served a conversation, which its prompt_cache_key or its first messages identify (F8.3,
// Q11).
import { hash } from 'node:crypto';
import type { Affinity, Continuation, PinName } from '../turn/continuation.ts';
import { isObject, type Json } from '../turn/json/json.ts';
import { longTextsOf } from '../turn/json/long-texts.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { dispatchedKind } from '../turn/routes/kinds.ts';
import { hasTiers, type TieredPool } from '../turn/tiers.ts';
import { endsInToolOutputs } from '../turn/tool-loop.ts';
import type { Body } from '../turn/turn.ts';
import type { PinCache } from './pins/pin-cache.ts';

/** Only both ends of longer texts are hashed, because clients choose the length of keys and messages. */
const LONGEST = 4_096;
/** The most parts of a message that are hashed. */
const PARTS = 8;

/** The part of a turn that identifies its conversation. */
export type AffinityTurn = Pick<LiveTurn, 'client' | 'model'> & {
  readonly route: Pick<LiveTurn['route'], 'kind' | 'method'>;
  readonly pool: TieredPool & Pick<LiveTurn['pool'], 'prompt_cache_locality'>;
  readonly key: Pick<LiveTurn['key'], 'id'>;
};

/** The affinity of a turn; undefined if affinity does not apply. A promise only if the conversation is not in memory. */
export function affinityOf(
  turn: AffinityTurn,
  body: Body | undefined,
  pins: PinCache,
  { session, soft }: Pick<Continuation, 'session' | 'soft'>,
): Affinity | undefined | Promise<Affinity> {
  const { route, client, pool, key, model } = turn;
  if (
    !body ||
    !model ||
    !pool.prompt_cache_locality ||
    client !== 'http' ||
    route.method !== 'POST' ||
    !dispatchedKind(route.kind)?.locality
  )
    return undefined;
  const cacheKey = body.prompt_cache_key;
  if (typeof cacheKey === 'string' && cacheKey !== '') {
    const name = pins.name('cache_key', pool.id, key.id, `${model.id}\n${endsOf(cacheKey)}`);
    // A soft pin takes precedence.
    return soft === undefined ? found(pins, name, 'locality', inLoop(turn, body)) : new LearntAffinity(pins, name, 'locality');
  }
  if (session !== undefined || soft !== undefined) return undefined;
  const digest = conversationDigest(body);
  if (digest === undefined) return undefined;
  const name = pins.name('conversation', pool.id, key.id, `${model.id}\n${digest}`);
  if (!continuesConversation(body.input)) return new LearntAffinity(pins, name, 'conversation');
  return found(pins, name, 'conversation', inLoop(turn, body));
}

/** Whether the turn may continue a tool loop at an account of a higher tier. */
const inLoop = ({ pool }: AffinityTurn, body: Body): boolean => hasTiers(pool) && endsInToolOutputs(body);

class LearntAffinity implements Affinity {
  readonly account: string | undefined;
  readonly overflow: string | undefined;
  readonly reason: Affinity['reason'];
  readonly #pins: PinCache;
  readonly #name: PinName;

  constructor(pins: PinCache, name: PinName, reason: Affinity['reason'], account?: string, overflow?: string) {
    this.#pins = pins;
    this.#name = name;
    this.reason = reason;
    this.account = account;
    this.overflow = overflow;
  }

  learn(account: string): void {
    this.#pins.learn(this.#name, account);
  }

  overflowed(account: string): void {
    this.#pins.learn(overflowName(this.#name), account);
  }
}

/** @param loop whether the conversation's tool loop may be at an account of a higher tier */
function found(pins: PinCache, name: PinName, reason: Affinity['reason'], loop: boolean): Affinity | Promise<Affinity> {
  const pin = pins.find(name);
  const overflow = loop ? pins.find(overflowName(name)) : undefined;
  if (pin instanceof Promise || overflow instanceof Promise)
    return Promise.all([pin, overflow]).then(([read, its]) => new LearntAffinity(pins, name, reason, read?.account, its?.account));
  return new LearntAffinity(pins, name, reason, pin?.account, overflow?.account);
}

const overflowName = ({ text }: PinName): PinName => ({ kind: 'overflow', text: `overflow\n${text}` });

/** Identifies the conversation of a turn without a session: its cache key, or a digest of its first messages. */
export function conversationOf(body: Body): readonly [kind: string, name: string] | undefined {
  const cacheKey = body.prompt_cache_key;
  if (typeof cacheKey === 'string' && cacheKey !== '') return ['cache_key', endsOf(cacheKey)];
  const digest = conversationDigest(body);
  return digest === undefined ? undefined : ['conversation', digest];
}

/** Whether the input has items that a model produced. */
function continuesConversation(input: Json | undefined): boolean {
  return Array.isArray(input) && input.some(isModelItem);
}

function isModelItem(item: Json): boolean {
  if (!isObject(item)) return false;
  const { role, type } = item;
  return role === 'assistant' || type === 'reasoning' || type === 'compaction' || (typeof type === 'string' && type.endsWith('_call'));
}

/** The digest of the instructions and the first user message; undefined if the input has no user message. */
function conversationDigest(body: Body): string | undefined {
  const { instructions, input } = body;
  const known = longTextsOf(body);
  const endsIn = (text: string): string => endsOf(text, known?.partsOf(text));
  const message = Array.isArray(input) ? input.find((item) => isObject(item) && item.role === 'user') : undefined;
  const content = isObject(message) ? message.content : input;
  const texts = typeof content === 'string' ? [content] : partTexts(content);
  if (texts.length === 0) return undefined;
  const prefix = typeof instructions === 'string' ? endsIn(instructions) : '';
  return hash('sha256', [prefix, ...texts.map(endsIn)].join('\n'), 'base64url');
}

function partTexts(content: Json | undefined): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content.slice(0, PARTS).flatMap((part) => {
    const text = isObject(part) ? (part.text ?? part.image_url ?? part.file_id ?? part.file_data) : undefined;
    return typeof text === 'string' ? [text] : [];
  });
}

/** @param parts of the text, if it has some: to read the text itself would join them */
function endsOf(text: string, parts: readonly string[] = [text]): string {
  if (text.length <= LONGEST) return text;
  const last = parts.slice(-2).reduce((joined, part) => joined + part, '');
  return `${text.length}\n${parts[0]?.slice(0, LONGEST / 2)}${last.slice(-LONGEST / 2)}`;
}
