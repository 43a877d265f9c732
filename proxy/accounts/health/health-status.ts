// An account's health outside this room: as /api/status reports it, and as the store keeps it through a restart.
import type { AccountStateRow } from '../../../store/store.ts';
import { TURNS_PATH } from '../scope.ts';
import type { AccountHealth } from './account-health.ts';
import type { HealthFields } from './account-states.ts';
import { CircuitBreaker, type ResultTime } from './circuit-breaker.ts';

export interface CooldownStatus {
  /** `cooling` until `until`; `due`: half-open, the next turn is the probe; `probing`: the probe is running. */
  readonly phase: 'cooling' | 'due' | 'probing';
  readonly cause: string | undefined;
  /** Unix milliseconds. */
  readonly until: number | undefined;
}

export interface HealthStatus {
  readonly account: string;
  /** `failing`: closed to turns after failures, until a probe succeeds. An exhausted quota alone leaves it `active` (UA2). */
  readonly status: AccountStateRow['health'];
  /** The cooldown of the whole account. */
  readonly cooldown: CooldownStatus | undefined;
  /** By exposed model id, and by path in parentheses: `(responses)` is the path of all ordinary turns, `(compact)` that of compactions. */
  readonly models: Readonly<Record<string, CooldownStatus>>;
  /** Models that the account's cooldown does not apply to, because no other account could take them. */
  readonly exemptModels: readonly string[];
}

export function healthStatus(health: AccountHealth): HealthStatus {
  const { id, needsLogin, breaker, modelBreakers, exemptModels } = health;
  const models = [...modelBreakers].flatMap(([model, own]) => {
    const status = cooldownStatus(own);
    return status ? [[model, status] as const] : [];
  });
  return {
    account: id,
    status: needsLogin ? 'reauth_required' : healthWord(breaker),
    cooldown: cooldownStatus(breaker),
    models: Object.fromEntries(models),
    exemptModels: exempts(health) ? [...exemptModels] : [],
  };
}

/** Whether a cooldown is open that scopes may be exempt from. */
const exempts = ({ exempting }: AccountHealth): boolean => exempting.some(({ phase }) => phase !== 'closed');

/** Whether a network's guard answers the account's turns, so that they wait. */
export const isChallenged = ({ models }: Pick<HealthStatus, 'models'>): boolean => models[TURNS_PATH]?.cause === 'challenge_page';

/** The cause in the row of an exempt model. */
const EXEMPT = 'spared';

/** The store's state of an account, by model; the empty model is the whole account. */
export function storedHealth(health: AccountHealth): ReadonlyMap<string, HealthFields> {
  const { reauthRequired, breaker, modelBreakers, exemptModels } = health;
  const fields = new Map<string, HealthFields>();
  if (exempts(health)) {
    for (const model of exemptModels) fields.set(model, { health: 'active', cooldown_until: null, streak: 0, cause: EXEMPT });
  }
  for (const [model, own] of modelBreakers) {
    if (own.needsStoring) fields.set(model, { health: healthWord(own), ...own.toStored() });
  }
  if (breaker.needsStoring || reauthRequired) {
    fields.set('', { health: reauthRequired ? 'reauth_required' : healthWord(breaker), ...breaker.toStored() });
  }
  return fields;
}

/** The state that the health of an account takes over from its rows. */
export interface Adopted {
  /** Whether the set of turns that pass may have changed. */
  readonly changed: boolean;
  /** Whether the rows lack something that this process opened at the same time. */
  readonly isNewer: boolean;
}

export function adoptHealth(rows: readonly AccountStateRow[], health: AccountHealth, time: ResultTime): Adopted {
  const exempt = new Set(rows.filter(({ cause }) => cause === EXEMPT).map(({ model }) => model));
  let changed = !isEqual(exempt, health.exemptModels);
  let isNewer = false;
  health.exemptModels = exempt;
  for (const row of rows) {
    if (row.cause === EXEMPT) continue;
    const breaker = row.model === '' ? health.breaker : (health.modelBreakers.get(row.model) ?? new CircuitBreaker());
    const adopted = breaker.adopt(row, time);
    changed ||= adopted === 'adopted';
    isNewer ||= adopted === 'kept';
    if (row.model !== '') {
      if (breaker.isInitial) health.modelBreakers.delete(row.model);
      else health.modelBreakers.set(row.model, breaker);
      continue;
    }
    const reauthRequired = row.health === 'reauth_required';
    changed ||= reauthRequired !== health.reauthRequired;
    health.reauthRequired = reauthRequired;
  }
  return { changed, isNewer };
}

const isEqual = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean => a.size === b.size && [...a].every((one) => b.has(one));

function healthWord({ phase, cause }: CircuitBreaker): 'active' | 'failing' {
  return phase === 'closed' || cause === 'quota' ? 'active' : 'failing';
}

function cooldownStatus({ phase, cause, cooldownEnd }: CircuitBreaker): CooldownStatus | undefined {
  return phase === 'closed' ? undefined : { phase, cause, until: phase === 'cooling' ? cooldownEnd : undefined };
}
