// A Pool API key opens every runtime route, unsupported rows included; nothing else happens without one (AU1, AU3).
import { type ErrorCode, plainRefusal } from '../../proxy/turn/refusal.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { rule } from '../rule.ts';

/** One token: a repeated header arrives joined by a comma, and is no token. */
const BEARER = /^bearer +([^\s,]+) *$/i;

/**
 * What speaks against a turn's key. No key, an unknown one and an operator's token look alike; a status is told only to who holds the
 * secret (Q2). Told, not thrown: a function that always throws stays interpreted, and a client may ask many times.
 */
function objectionTo(turn: Turn): ErrorCode | undefined {
  const secret = BEARER.exec(turn.headers.authorization ?? '')?.[1];
  const key = secret === undefined ? undefined : turn.identify(secret);
  if (!key) return 'invalid_api_key';
  if (key.status !== 'active') return 'api_key_disabled';
  return key.expires_at !== undefined && turn.at >= key.expires_at ? 'api_key_expired' : undefined;
}

/** `/mcp` has a credential of its own (AU2), and is left out here rather than in `routes`: unsupported rows have no kind to name. */
export const authenticate = rule({
  name: 'authenticate',
  routes: '*',
  admit(turn) {
    if (turn.route.family === 'mcp') return;
    const objection = objectionTo(turn);
    if (objection) throw plainRefusal(objection);
  },
});
