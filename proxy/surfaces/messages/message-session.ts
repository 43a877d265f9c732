// The session that a Messages request belongs to, from what its clients send (AM64, AM65).
import { hash } from 'node:crypto';
import { isObject, type Json, parsedObject } from '../../turn/json/json.ts';
import type { Headers, Turn } from '../../turn/turn.ts';
import { sessionOf } from '../../turn/wire/session-header.ts';

const MARK = '_session_';

/** The session; undefined if the client names none. @param metadata the request's member `metadata` */
export function messagesSession({ headers, wire }: Pick<Turn, 'headers' | 'wire'>, metadata: Json | undefined): string | undefined {
  const session =
    sessionOf(headers, wire) ?? header(headers, 'x-claude-code-session-id') ?? sessionIn(isObject(metadata) ? metadata.user_id : undefined);
  const agent = header(headers, 'x-claude-code-agent-id');
  return session === undefined || agent === undefined ? session : `${session} ${agent}`;
}

/** The cache key of a session. It is a digest, so that the account does not learn the session's name (AM65). */
export const cacheKeyOf = ({ pool, key }: Pick<Turn, 'pool' | 'key'>, session: string): string =>
  hash('sha256', JSON.stringify([pool.id, key.id, session]), 'hex').slice(0, 32);

function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function sessionIn(userId: Json | undefined): string | undefined {
  if (typeof userId !== 'string') return undefined;
  const named = userId.startsWith('{') ? parsedObject(userId)?.session_id : undefined;
  if (typeof named === 'string' && named !== '') return named;
  const at = userId.lastIndexOf(MARK);
  return at === -1 || at + MARK.length === userId.length ? undefined : userId.slice(at + MARK.length);
}
