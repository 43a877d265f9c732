// An account's health as operators see it, and as rows keep it.
import type { AccountStateRow } from '../../../store/store.ts';
import type { AccountHealth } from './account-health.ts';
import type { HealthFields } from './account-states.ts';
import { Condition } from './condition.ts';

export interface ConditionStatus {
  /** `cooling` until `until`; `due`: the next turn is the probe; `probing`: it is under way. */
  readonly phase: 'cooling' | 'due' | 'probing';
  readonly cause: string | undefined;
  /** Unix milliseconds. */
  readonly until: number | undefined;
}

export interface HealthStatus {
  readonly account: string;
  /** `failing`: kept away for its failures, until a probe decides. A spent quota alone leaves it `active` (UA2). */
  readonly status: AccountStateRow['health'];
  /** Of the account as a whole. */
  readonly cooldown: ConditionStatus | undefined;
  /** By exposed model id. */
  readonly models: Readonly<Record<string, ConditionStatus>>;
  /** Models that the account's cooldown does not hold for, since nobody else could take them. */
  readonly exemptModels: readonly string[];
}

export function statusOf({ id, reauth, whole, models, exemptModels }: AccountHealth): HealthStatus {
  const own = [...models].flatMap(([model, condition]) => {
    const status = conditionStatus(condition);
    return status ? [[model, status] as const] : [];
  });
  return {
    account: id,
    status: reauth ? 'reauth_required' : healthOf(whole),
    cooldown: conditionStatus(whole),
    models: Object.fromEntries(own),
    exemptModels: whole.phase === 'closed' ? [] : [...exemptModels],
  };
}

/** The row of a exemptModels model. */
const SPARED = 'exemptModels';

/** What a restart must not forget of an account, by model. */
export function fieldsOf({ reauth, whole, models, exemptModels }: AccountHealth): ReadonlyMap<string, HealthFields> {
  const fields = new Map<string, HealthFields>();
  if (whole.phase !== 'closed') {
    for (const model of exemptModels) fields.set(model, { health: 'active', cooldown_until: null, streak: 0, cause: SPARED });
  }
  for (const [model, condition] of models) {
    if (condition.worthKeeping) fields.set(model, { health: healthOf(condition), ...condition.kept });
  }
  if (whole.worthKeeping || reauth) fields.set('', { health: reauth ? 'reauth_required' : healthOf(whole), ...whole.kept });
  return fields;
}

/** Takes the rows of an earlier process. */
export function restoreFrom(rows: readonly AccountStateRow[], health: AccountHealth, now: number): void {
  health.exemptModels = new Set(rows.filter(({ cause }) => cause === SPARED).map(({ model }) => model));
  for (const row of rows) {
    if (row.cause === SPARED) continue;
    if (row.model === '') {
      health.whole.restore(row, now);
      health.reauth = row.health === 'reauth_required';
      continue;
    }
    const condition = new Condition();
    condition.restore(row, now);
    if (!condition.sound) health.models.set(row.model, condition);
  }
}

function healthOf({ phase, cause }: Condition): 'active' | 'failing' {
  return phase === 'closed' || cause === 'quota' ? 'active' : 'failing';
}

function conditionStatus({ phase, cause, until }: Condition): ConditionStatus | undefined {
  return phase === 'closed' ? undefined : { phase, cause, until: phase === 'cooling' ? until : undefined };
}
