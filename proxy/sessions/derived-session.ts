// The session id that replaces the client's at an account, so that the provider's prompt cache follows it (RB14, Q35).
import type { KeyedDigest } from '../encryption/digest.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Body } from '../turn/turn.ts';
import { conversationOf } from './affinity.ts';

type SessionTurn = Pick<LiveTurn, 'session'> & {
  readonly pool: Pick<LiveTurn['pool'], 'id'>;
  readonly key: Pick<LiveTurn['key'], 'id'>;
};

/**
 * A UUID of the turn's session, or of its conversation if it has no session (Q11). Turns of one key get the same UUID only if these are the
 * same. Undefined if the turn names neither.
 * @param body after its rules
 */
export function derivedSession({ session, pool, key }: SessionTurn, body: Body, digest: KeyedDigest): string | undefined {
  const named = session === undefined ? conversationOf(body) : ['session', session];
  return named && uuidOf(digest.of(JSON.stringify([pool.id, key.id, ...named])));
}

/** A UUID of version 8 (RFC 9562, 5.8), whose bits are free except for version and variant. */
function uuidOf(digest: string): string {
  const bytes = Buffer.from(digest, 'base64url').subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
