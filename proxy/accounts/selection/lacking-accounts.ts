// The accounts of a Pool whose API cannot take a turn, and the refusal of a turn that is left without an account for that (AA18, AA25).
import { Refusal, restartRequired } from '../../turn/errors/refusal.ts';
import { LACKS, type Lack } from '../../turn/provider/lack.ts';
import type { ProviderOf } from '../../turn/provider/provider-api.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import type { Body } from '../../turn/turn.ts';
import type { SelectedTurn } from './demand.ts';

/** By account. */
export type Lacking = ReadonlyMap<string, Lack>;

export class LackingAccounts {
  readonly #providerOf: ProviderOf;
  /** The accounts whose API does not take every turn. In most Pools there are none, and no turn is looked at. */
  readonly #selective = new WeakMap<PoolConfig, readonly AccountConfig[]>();

  constructor(providerOf: ProviderOf) {
    this.#providerOf = providerOf;
  }

  /** Undefined in a Pool whose accounts all take every turn. @param body after its rules; undefined where it passes unread */
  of(turn: SelectedTurn, body: Body | undefined): Lacking | undefined {
    const selective = this.#selectiveIn(turn);
    const { kind } = turn.route;
    if (selective.length === 0 || kind === undefined) return undefined;
    const lacking = new Map<string, Lack>();
    for (const account of selective) {
      const lack = this.#providerOf(account).lacks?.({ kind, body }, account);
      if (lack) lacking.set(account.id, lack);
    }
    return lacking;
  }

  #selectiveIn({ pool, generation }: SelectedTurn): readonly AccountConfig[] {
    const known = this.#selective.get(pool);
    if (known) return known;
    const accounts = pool.assignments.flatMap(({ account }) => generation.accounts.get(account) ?? []);
    const selective = accounts.filter((account) => this.#providerOf(account).lacks);
    this.#selective.set(pool, selective);
    return selective;
  }
}

/** The lack that comes furthest down the list is the nearest to a candidate: it decides the refusal. @param lacks at least one */
export function lackRefusal(lacks: readonly Lack[], agent: string): Refusal {
  const place = ({ reason }: Lack): number => LACKS.indexOf(reason);
  const { reason, param } = lacks.reduce((a, b) => (place(b) > place(a) ? b : a));
  switch (reason) {
    case 'kind':
      return new Refusal('unsupported_endpoint');
    case 'anchor':
      return new Refusal('previous_response_not_found', { param: 'previous_response_id' });
    case 'compaction_item':
      return restartRequired(agent);
    case 'files':
    case 'ciphertext':
    case 'effort':
    case 'window':
      return new Refusal('no_eligible_account');
    default:
      return new Refusal('unsupported_parameter', param === undefined ? {} : { param });
  }
}
