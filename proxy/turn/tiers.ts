// The tiers of a Pool: which tiers its accounts are in, and what each tier may cost (AA65, AA69).
import { oncePerObject } from '../base/process/once-per-object.ts';
import type { OverflowConfig, PoolConfig } from './settings.ts';

/** The state of the accounts of lower tiers when a turn left them (AA66). */
export type OverflowReason = OverflowConfig['on'][number];

/** A limit on what tiers may cost: of one tier, or of all above 0. */
export interface Cap {
  /** An id that no key has. */
  readonly id: string;
  /** Undefined for all tiers above 0 together. */
  readonly tier: number | undefined;
  readonly limits: { readonly usd_per_day?: number; readonly usd_per_month?: number };
}

export type TieredPool = Pick<PoolConfig, 'id' | 'assignments' | 'overflow'>;

export interface PoolTiers {
  /** The tiers that have accounts, the lowest first. */
  readonly all: readonly number[];
  readonly caps: readonly Cap[];
  readonly isTiered: boolean;
  tierOf(account: string): number;
  /** The caps that apply to a tier. */
  capsOf(tier: number): readonly Cap[];
}

const NO_CAPS: readonly Cap[] = [];

export const tiersOf = oncePerObject(({ id, assignments, overflow }: TieredPool): PoolTiers => {
  const byAccount = new Map(assignments.map(({ account, tier }) => [account, tier]));
  const all = [...new Set(byAccount.values())].sort((a, b) => a - b);
  const { usd_per_day, usd_per_month, tiers } = overflow;
  const caps = [
    cap(`overflow ${id}`, undefined, { usd_per_day, usd_per_month }),
    ...Object.entries(tiers).map(([tier, limits]) => cap(`overflow ${id} ${tier}`, Number(tier), limits)),
  ].filter((one) => one !== undefined);
  const capsOf = new Map(
    all.map((tier) => [tier, tier === 0 ? NO_CAPS : caps.filter((one) => one.tier === undefined || one.tier === tier)]),
  );
  return {
    all,
    caps,
    isTiered: all.length > 1 || (capsOf.get(all[0] ?? 0) ?? NO_CAPS).length > 0,
    tierOf: (account) => byAccount.get(account) ?? 0,
    capsOf: (tier) => capsOf.get(tier) ?? NO_CAPS,
  };
});

/** Whether turns of the Pool have more than one tier, or a cap. */
export const hasTiers = (pool: TieredPool): boolean => tiersOf(pool).isTiered;

function cap(
  id: string,
  tier: number | undefined,
  { usd_per_day, usd_per_month }: { readonly usd_per_day?: number | undefined; readonly usd_per_month?: number | undefined },
): Cap | undefined {
  if (usd_per_day === undefined && usd_per_month === undefined) return undefined;
  const limits = { ...(usd_per_day !== undefined && { usd_per_day }), ...(usd_per_month !== undefined && { usd_per_month }) };
  return { id, tier, limits };
}
