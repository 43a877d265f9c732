// An account's health outside this room: the form that /api/status reports, the form that the store keeps through a restart, and the
// functions that are called when it changes.
import type { AccountStateRow } from '../../../store/store.ts';
import { TURNS_PATH } from '../scope.ts';
import type { Cause } from './account-fault.ts';
import type { AccountHealth } from './account-health.ts';
import type { HealthFields } from './account-states.ts';
import { CircuitBreaker, type ResultTime } from './circuit-breaker.ts';

export interface CooldownStatus {
  /** `cooling` until `until`; `due`: half-open, the next turn is the probe; `probing`: the probe is running. */
  readonly phase: 'cooling' | 'due' | 'probing';
  readonly cause: Cause | undefined;
  /** The end of the phase; Unix milliseconds. */
  readonly until: number | undefined;
}

export interface HealthStatus {
  readonly account: string;
  /** `failing`: blocked after failures, until a probe succeeds. An exhausted quota alone leaves it `active` (UA2). */
  readonly status: AccountStateRow['health'];
  /** The cooldown of the whole account. */
  readonly cooldown: CooldownStatus | undefined;
  /**
   * Cooldowns by exposed model id, and by path in parentheses: `(responses)` is the path of ordinary turns, `(compact)` that of
   * compactions.
   */
  readonly models: Readonly<Record<string, CooldownStatus>>;
  /** Models that are exempt from the account's cooldown, because no other account could take them. */
  readonly exemptModels: readonly string[];
}

export function healthStatus(health: AccountHealth): HealthStatus {
  const { id, needsLogin, breakers } = health;
  const models = [...breakers.scoped].flatMap(([model, own]) => {
    const status = cooldownStatus(own);
    return status ? [[model, status] as const] : [];
  });
  return {
    account: id,
    status: needsLogin ? 'reauth_required' : healthWord(breakers.whole),
    cooldown: cooldownStatus(breakers.whole),
    models: Object.fromEntries(models),
    exemptModels: breakers.exempts ? [...breakers.exempt] : [],
  };
}

/** Whether a challenge page of the account's network blocks its turns. */
export const isChallenged = ({ models }: Pick<HealthStatus, 'models'>): boolean => models[TURNS_PATH]?.cause === 'challenge_page';

/** The cause that the row of an exempt model has. */
const EXEMPT = 'spared';

/** The account's state for the store, by model; the empty model is the whole account. */
export function storedHealth({ reauthRequired, breakers }: AccountHealth): ReadonlyMap<string, HealthFields> {
  const { whole, scoped, exempt, exempts } = breakers;
  const fields = new Map<string, HealthFields>();
  if (exempts) {
    for (const model of exempt) fields.set(model, { health: 'active', cooldown_until: null, streak: 0, cause: EXEMPT });
  }
  for (const [model, own] of scoped) {
    if (own.needsStoring) fields.set(model, { health: healthWord(own), ...own.toStored() });
  }
  if (whole.needsStoring || reauthRequired) {
    fields.set('', { health: reauthRequired ? 'reauth_required' : healthWord(whole), ...whole.toStored() });
  }
  return fields;
}

/** The result of restoring the health of an account from its rows. */
export interface Adopted {
  /** Whether the set of turns that may pass has possibly changed. */
  readonly changed: boolean;
  /** Whether this process has newer state that the rows lack, because it opened a cooldown at the same time. */
  readonly isNewer: boolean;
}

export function adoptHealth(rows: readonly AccountStateRow[], health: AccountHealth, time: ResultTime): Adopted {
  const { breakers } = health;
  const exempt = new Set(rows.filter(({ cause }) => cause === EXEMPT).map(({ model }) => model));
  let changed = !isEqual(exempt, breakers.exempt);
  let isNewer = false;
  breakers.exempt = exempt;
  for (const row of rows) {
    if (row.cause === EXEMPT) continue;
    const breaker = row.model === '' ? breakers.whole : (breakers.scoped.get(row.model) ?? new CircuitBreaker());
    const adopted = breaker.adopt(row, time);
    changed ||= adopted === 'adopted';
    isNewer ||= adopted === 'kept';
    if (row.model !== '') {
      if (breaker.isInitial) breakers.scoped.delete(row.model);
      else breakers.scoped.set(row.model, breaker);
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

export class HealthListeners {
  readonly #changes = new Set<(status: HealthStatus) => void>();
  readonly #refusals = new Set<(account: string) => void>();

  onChange(listen: (status: HealthStatus) => void): () => void {
    this.#changes.add(listen);
    return () => void this.#changes.delete(listen);
  }

  onReauthRequired(listen: (account: string) => void): void {
    this.#refusals.add(listen);
  }

  changed(account: AccountHealth): void {
    if (this.#changes.size === 0) return;
    const status = healthStatus(account);
    for (const listen of this.#changes) listen(status);
  }

  reauthRequired(id: string): void {
    for (const listen of this.#refusals) listen(id);
  }
}
