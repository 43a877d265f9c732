// Every runtime route needs a Pool API key, unsupported rows included (AU1, AU3).
import { type ErrorCode, plainRefusal } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { KeyConfig } from '../../proxy/turn/settings.ts';
import type { Turn } from '../../proxy/turn/turn.ts';

/** The first known key. A client may also send a key of another provider. */
function knownKey(turn: Turn): KeyConfig | undefined {
  for (const secret of turn.credentials) {
    const key = turn.identify(secret);
    if (key) return key;
  }
  return undefined;
}

/**
 * The refusal of a turn's key. A missing key, an unknown key and an operator's token get the same code. The status of a key is revealed
 * only if the secret matches (Q2). Returned instead of thrown, because V8 does not optimise a function that always throws.
 */
function refusalCode(turn: Turn): ErrorCode | undefined {
  const key = knownKey(turn);
  if (!key) return 'invalid_api_key';
  if (key.status !== 'active') return 'api_key_disabled';
  if (key.expires_at !== undefined && turn.arrivedAt >= key.expires_at) return 'api_key_expired';
  return turn.comesFrom(key.allow_from) ? undefined : 'ip_not_authorized';
}

/**
 * `/mcp` has another credential, which `authenticateOperator` checks (AU2). The page of key holders is a file of the package and asks for
 * the key itself. Both are excluded here and not in `routes`, because unsupported rows have no kind to list there.
 */
export const authenticate = rule({
  name: 'authenticate',
  routes: '*',
  admit(turn) {
    const { family, kind, status } = turn.route;
    if (family === 'mcp' || (kind === 'usage-page' && status !== 'unsupported')) return;
    const code = refusalCode(turn);
    if (code) throw plainRefusal(code);
  },
  explain: ({ key }) => key && `opens Pool ${key.pool} for key ${key.id}, which is ${key.status}`,
});
