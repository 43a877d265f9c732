// The session of a turn: the value of the first continuity header that is present (F8.1).
import type { WireWords } from '../settings.ts';
import type { Headers } from '../turn.ts';
import { perAgent } from './agent-names.ts';

/** The continuity headers in order of precedence. `<agent>` is replaced with the deployment's word. */
const HEADERS = [
  'x-<agent>-window-id',
  'x-<agent>-session-id',
  'session-id',
  'x-session-id',
  'x-session-affinity',
  'session_id',
  'x-<agent>-conversation-id',
] as const;

const namesOf = perAgent((agent) => HEADERS.map((name) => name.replace('<agent>', agent)));

/** A blank header counts as absent, because otherwise all clients that send one would share a session. */
export function sessionOf(headers: Headers, { agent }: WireWords): string | undefined {
  const names = namesOf(agent);
  for (const name of names) {
    const value = headers[name]?.trim();
    if (!value) continue;
    const session = name === names[0] ? windowless(value) : value;
    if (session !== '') return session;
  }
  return undefined;
}

/** The headers that may name a session. */
export function continuityHeaders(headers: Headers, { agent }: WireWords): Record<string, string> {
  const present = namesOf(agent).map((name) => [name, headers[name]] as const);
  return Object.fromEntries(present.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
}

/** The sessions that a value of an unknown continuity header may name: the value itself, and the value without its window. */
export const sessionsNamed = (value: string): readonly string[] => [...new Set([value, windowless(value)])];

/** A value without the window in `<thread>:<n>`. `n` grows with each compaction, so only the thread names the session (Q10). */
function windowless(value: string): string {
  const colon = value.lastIndexOf(':');
  return colon === -1 ? value : value.slice(0, colon);
}
