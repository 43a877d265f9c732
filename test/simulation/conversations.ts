// The accounts that answered conversations without a session header, as stored in the pins that all nodes share (Q11).
import type { Clock } from '../../proxy/base/time/clock.ts';
import type { Affinity } from '../../proxy/turn/continuation.ts';
import type { Asking } from './router.ts';

/** An account is remembered for a conversation for this time after its last turn. */
const AFFINITY_MS = 3_600_000;

export class Conversations {
  readonly #clock: Clock;
  readonly #answered = new Map<string, { readonly account: string; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined for a session that has a pin. */
  affinityOf({ session, kind, number }: Asking): Affinity | undefined {
    if (kind === 'pinned') return undefined;
    const last = this.#answered.get(session);
    const isKnown = last !== undefined && this.#clock.now() - last.at < AFFINITY_MS && (kind === 'keyed' || number > 0);
    return {
      account: isKnown ? last.account : undefined,
      reason: kind === 'keyed' ? 'locality' : 'conversation',
      learn: (account) => void this.#answered.set(session, { account, at: this.#clock.now() }),
    };
  }
}
