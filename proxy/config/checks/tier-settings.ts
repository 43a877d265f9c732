// Checks tiers and fallbacks: caps and prices of higher tiers, settings without an effect, fallbacks that cannot be served (AA70, AA73,
// AA74).
import { isRehearsal } from '../../turn/provider/rehearsal-address.ts';
import type { Problem } from '../schema/finding.ts';
import { type AccountRow, accountRows } from './api/account-row.ts';
import { isMapping, type Mapping, mapping, type Row, rowsOf, text, textsAt } from './config-rows.ts';

export function checkTiers(data: unknown): readonly Problem[] {
  const accounts = new Map(accountRows(data).map((account) => [text(account.row.id), account]));
  return rowsOf(data, 'pools').flatMap((pool) => {
    const assigned = rowsOf(pool.row, 'assignments', pool.path);
    return [
      ...overflowWithoutTiers(pool, assigned),
      ...tiersWithoutCap(pool, assigned, accounts),
      ...pricesMissing(pool, assigned, accounts),
      ...chains(pool, assigned, accounts),
    ];
  });
}

type Accounts = ReadonlyMap<string | undefined, AccountRow>;

const tierOf = ({ row }: Row): number => (typeof row.tier === 'number' ? row.tier : 0);

/** Returns whether a tier has a cap in USD. A cap may apply to all tiers above 0. */
function cappedBy({ row }: Row): (tier: number) => boolean {
  const overflow = mapping(row.overflow);
  const isCapped = (caps: unknown): boolean => ['usd_per_day', 'usd_per_month'].some((name) => mapping(caps)[name] !== undefined);
  return (tier) => tier > 0 && (isCapped(overflow) || isCapped(mapping(overflow.tiers)[tier]));
}

function* overflowWithoutTiers({ path, row }: Row, assigned: readonly Row[]): Generator<Problem> {
  const tiers = [...new Set(assigned.map(tierOf))];
  // A cap applies to a tier above 0 even if the Pool has no other tier.
  if (row.overflow === undefined || tiers.length > 1 || tiers.some(cappedBy({ path, row }))) return;
  yield {
    path: [...path, 'overflow'],
    at: 'key',
    message: 'all accounts of this Pool are in one tier, so no turn overflows',
    severity: 'warning',
  };
}

/** Warns once for each tier without a cap, at its first account that costs money. */
function* tiersWithoutCap(pool: Row, assigned: readonly Row[], accounts: Accounts): Generator<Problem> {
  const isCapped = cappedBy(pool);
  const seen = new Set<number>();
  for (const assignment of assigned) {
    const tier = tierOf(assignment);
    const account = accounts.get(text(assignment.row.account));
    if (tier === 0 || seen.has(tier) || isCapped(tier) || !account || !isMapping(account.row.credential)) continue;
    seen.add(tier);
    const message = `tier ${tier} has an account with a credential and no cap: set overflow.usd_per_day, overflow.usd_per_month or overflow.tiers.${tier}`;
    yield { path: [...assignment.path, 'tier'], message, severity: 'warning' };
  }
}

/** Reports declared models without a price in a tier with a cap, because their turns would never go there. */
function* pricesMissing(pool: Row, assigned: readonly Row[], accounts: Accounts): Generator<Problem> {
  const isCapped = cappedBy(pool);
  const models = mapping(pool.row.models);
  for (const assignment of assigned) {
    const account = accounts.get(text(assignment.row.account));
    if (!account || !isCapped(tierOf(assignment)) || costsNothing(account)) continue;
    for (const { path, row } of rowsOf(account.row, 'catalog', account.path)) {
      const own = text(row.id);
      if (own === undefined || row.prices !== undefined) continue;
      const exposed = exposedIds(account.row, own);
      if (exposed.some((id) => mapping(models[id]).prices !== undefined)) continue;
      const message = `Pool ${text(pool.row.id) ?? ''} has a cap for tier ${tierOf(assignment)}, and this model has no prices, here or in the Pool: no turn of it would go there`;
      yield { path, at: 'first-key', message };
    }
  }
}

/** Whether the account has no credential, so its models cost nothing if no price is set (AA70). */
function costsNothing({ row, preset }: AccountRow): boolean {
  if (isRehearsal(row.base_url)) return preset?.credential === 'none';
  return row.credential === undefined || row.credential === 'none';
}

/** The exposed ids of a model, from the account's own id. */
function exposedIds({ models }: Mapping, own: string): readonly string[] {
  const renamed = Object.entries(mapping(models)).flatMap(([exposed, id]) => (id === own ? exposed : []));
  return renamed.length > 0 ? renamed : [own];
}

function* chains({ path, row }: Row, assigned: readonly Row[], accounts: Accounts): Generator<Problem> {
  const models = mapping(row.models);
  const served = declaredModels(assigned, accounts);
  for (const [id, model] of Object.entries(models)) {
    for (const { path: at, text: next } of textsAt(model, 'fallback', [...path, 'models', id])) {
      if (next === id) yield { path: at, message: 'a model is not a fallback of itself' };
      else if (mapping(models[next]).suppressed === true) {
        yield { path: at, message: `${next} is suppressed in this Pool, so no turn goes on to it`, severity: 'warning' };
      } else if (served && !served.has(next)) {
        yield { path: at, message: `no account of this Pool can have ${next}, so no turn goes on to it`, severity: 'warning' };
      }
    }
  }
}

/** The exposed ids of a Pool whose accounts serve only declared models. Undefined if an account's own list decides. */
function declaredModels(assigned: readonly Row[], accounts: Accounts): ReadonlySet<string> | undefined {
  const ids = new Set<string>();
  for (const assignment of assigned) {
    const account = accounts.get(text(assignment.row.account))?.row;
    if (!account) return undefined;
    const declared = rowsOf(account, 'catalog').flatMap((one) => text(one.row.id) ?? []);
    const renamed = Object.keys(mapping(account.models));
    const isApi = account.api === 'responses' || account.api === 'chat' || account.preset !== undefined;
    const readsAll = account.read_models === 'all' || (account.read_models === undefined && declared.length + renamed.length === 0);
    if (!isApi || readsAll) return undefined;
    for (const id of [...declared.flatMap((own) => exposedIds(account, own)), ...renamed]) ids.add(id);
  }
  return ids;
}
