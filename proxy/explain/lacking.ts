// What the accounts of a Pool lack for a turn, as far as that is known before it is sent, from its kind, its body and its tier (AA18).
import { isCostless, isFree, priceAt } from '../turn/costs/prices.ts';
import type { Lack } from '../turn/provider/lack.ts';
import type { ProviderApi } from '../turn/provider/provider-api.ts';
import { dispatchedKind } from '../turn/routes/kinds.ts';
import type { AccountConfig, AssignmentConfig, Prices } from '../turn/settings.ts';
import type { Route } from '../turn/turn.ts';
import type { ExplainedCap, Facts } from './facts.ts';

/** The facts from which lacks are determined. */
export type LackFacts = Pick<Facts, 'config' | 'pool' | 'key' | 'model' | 'live' | 'preview' | 'caps' | 'providerOf'>;

export function lackingOf(facts: LackFacts, route: Route): ReadonlyMap<string, Lack> {
  const { pool, config } = facts;
  const lacking = new Map<string, Lack>();
  if (!dispatchedKind(route.kind)) return lacking;
  const assigned = pool.assignments.flatMap((assignment) => {
    const account = config.accounts.find(({ id }) => id === assignment.account);
    return account ? [{ assignment, account }] : [];
  });
  for (const { account, assignment } of assigned) {
    const lack = ofTurn(account, route, facts) ?? ofTier(account, assignment, route, facts);
    if (lack) lacking.set(account.id, lack);
  }
  if (facts.key?.overflow !== false) return lacking;
  const base = Math.min(...assigned.filter((one) => isSource(one, facts) && !lacking.has(one.account.id)).map(tierOf));
  for (const one of assigned) {
    if (tierOf(one) > base && !lacking.has(one.account.id)) lacking.set(one.account.id, { reason: 'no_overflow' });
  }
  return lacking;
}

interface Assigned {
  readonly account: AccountConfig;
  readonly assignment: AssignmentConfig;
}

const tierOf = ({ assignment }: Assigned): number => assignment.tier;

/** Whether the assignment counts for the base tier of a turn (AA65). */
const isSource = ({ account, assignment }: Assigned, { live }: LackFacts): boolean =>
  assignment.active &&
  assignment.eligible &&
  account.visible &&
  !account.paused &&
  (live === undefined || live.sources.some((source) => source.account === account.id));

/** What the account lacks for this turn. Without a body only its kind is known. */
function ofTurn(account: AccountConfig, { kind }: Route, { live, preview, providerOf }: LackFacts): Lack | undefined {
  const previewed = preview?.accounts.get(account.id);
  if (previewed || kind === undefined) return previewed?.lack;
  const provider: ProviderApi = providerOf(account);
  // Agent backends take every turn, but make no embeddings.
  if (!provider.lacks) return kind === 'embeddings' ? { reason: 'kind' } : undefined;
  return provider.lacks({ kind, body: undefined }, account, live?.sources.find((source) => source.account === account.id)?.own);
}

function ofTier(account: AccountConfig, { tier }: AssignmentConfig, { kind }: Route, facts: LackFacts): Lack | undefined {
  const caps = capsAt(tier, facts.caps);
  if (caps.length === 0 || isCostless(dispatchedKind(kind))) return undefined;
  // The price depends on the model, which is not known here.
  if (facts.model === undefined) return undefined;
  const prices = priceAt(account, facts.model, facts.pool);
  if (!prices) return { reason: 'no_price' };
  return isSpent(caps, prices, facts) ? { reason: 'overflow_spent' } : undefined;
}

/** Whether the turn does not fit into the caps. Without a body its cost is unknown, and it fits unless a cap is used up. */
function isSpent(caps: readonly ExplainedCap[], prices: Prices, { preview }: LackFacts): boolean {
  if (isFree(prices)) return false;
  const cost = preview?.leastCost(prices) ?? 0;
  return caps.some(({ left }) => left !== null && (left <= 0 || cost > left));
}

/** The caps that apply in a tier (AA69). */
export const capsAt = (tier: number, caps: readonly ExplainedCap[]): readonly ExplainedCap[] =>
  tier === 0 ? [] : caps.filter((cap) => cap.tier === null || cap.tier === tier);
