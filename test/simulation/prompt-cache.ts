// The prompt cache of one account with and without derived session headers, which shows the effect of `session_header` (RB14).
import { KeyedDigest } from '../../proxy/encryption/digest.ts';
import { SimulatedCache } from '../../proxy/rehearsal/account/simulated-cache.ts';
import { derivedSession } from '../../proxy/sessions/derived-session.ts';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import type { SessionKind } from './day.ts';
import { percent, textTable } from './simulation.ts';

const KINDS: readonly SessionKind[] = ['pinned', 'keyed', 'unnamed'];
const CONVERSATIONS = 100;
const TURNS = 12;
/**
 * The lengths of the instructions, which differ between conversations, and of the text that a turn adds. They exceed the shortest prompt
 * that is cached.
 */
const [FIRST_CHARACTERS, TURN_CHARACTERS] = [12_000, 2_000];
const CHARACTERS_PER_TOKEN = 4;

export type SessionHeader = 'derived' | 'none';

export interface CacheShare {
  readonly kind: SessionKind;
  readonly header: SessionHeader;
  /** Cached input tokens divided by all input tokens, without the first turns of conversations. */
  readonly cached: number;
  /** The share of these turns that found nothing cached. */
  readonly cold: number;
}

/** Runs conversations of one kind, which take turns at one account. */
export function cacheShare(kind: SessionKind, header: SessionHeader): CacheShare {
  const cache = new SimulatedCache();
  const digest = new KeyedDigest(Buffer.alloc(32, 7));
  let [cached, all, cold, turns] = [0, 0, 0, 0];
  for (let turn = 0; turn < TURNS; turn++) {
    for (let conversation = 0; conversation < CONVERSATIONS; conversation++) {
      const body = bodyOf(kind, conversation, turn);
      const tokens = (FIRST_CHARACTERS + (turn + 1) * TURN_CHARACTERS) / CHARACTERS_PER_TOKEN;
      const session = header === 'derived' ? derivedSession(turnOf(kind, conversation), body, digest) : undefined;
      const found = cache.cachedTokens(body, session, tokens);
      if (turn === 0) continue;
      cached += found;
      all += tokens;
      turns += 1;
      if (found === 0) cold += 1;
    }
  }
  return { kind, header, cached: cached / all, cold: cold / turns };
}

const turnOf = (kind: SessionKind, conversation: number): Parameters<typeof derivedSession>[0] => ({
  session: kind === 'pinned' ? `session-${conversation}` : undefined,
  pool: { id: 'pool' },
  key: { id: 'key' },
});

/** Each turn repeats the conversation and adds a message. */
function bodyOf(kind: SessionKind, conversation: number, turn: number): Body & JsonObject {
  const message = (number: number): JsonObject => ({
    type: 'message',
    role: number % 2 === 0 ? 'user' : 'assistant',
    content: `${conversation} ${number} `.padEnd(TURN_CHARACTERS, 'word '),
  });
  return {
    model: 'model',
    instructions: `The project ${conversation}. `.padEnd(FIRST_CHARACTERS, 'word '),
    input: Array.from({ length: turn + 1 }, (_, number) => message(number)),
    ...(kind === 'keyed' ? { prompt_cache_key: `key-${conversation}` } : {}),
  };
}

/** The table for `npm run bench -- simulate`. */
export function promptCacheTable(): string {
  const rows = KINDS.flatMap((kind) => (['none', 'derived'] as const).map((header) => cacheShare(kind, header)));
  const lines = rows.map(({ kind, header, cached, cold }) => [kind, header, percent(cached), percent(cold)]);
  return `${CONVERSATIONS} conversations of ${TURNS} turns at one account with eight machines\n\n${textTable([
    ['conversations', 'session_header', 'cached tokens', 'turns without'],
    ...lines,
  ])}`;
}
