// The accounts that speak websocket: as configured, without those whose provider refused an upgrade a short time ago (Q6).
import type { AccountConfig } from '../turn/settings.ts';

/** An upgrade that is refused with one of these means that the account has no websocket. */
const NO_WEBSOCKET: ReadonlySet<number | undefined> = new Set([404, 405, 426, 501]);
const REFUSED_FOR_MS = 3_600_000;
/** A network's guard answered the upgrade: it may let the next one pass (RB3). */
const CHALLENGED_FOR_MS = 300_000;

export const saysNoWebsocket = (status: number | undefined): boolean => NO_WEBSOCKET.has(status);

interface RefusedUpgrade {
  readonly baseUrl: string;
  /** Unix milliseconds. */
  readonly until: number;
}

/** Each process finds out about a refusal for itself: asking again costs one upgrade. */
export class WebsocketSupport {
  readonly #now: () => number;
  /** By account: other accounts at the same address may have what this one lacks. */
  readonly #refused = new Map<string, RefusedUpgrade>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether turns of websocket clients go to this account as frames. */
  has({ id, websocket, base_url }: AccountConfig): boolean {
    if (!websocket) return false;
    const refused = this.#refused.get(id);
    if (!refused) return true;
    // An account that moved to another address is asked again.
    if (refused.baseUrl === base_url && this.#now() < refused.until) return false;
    this.#refused.delete(id);
    return true;
  }

  refused({ id, base_url }: AccountConfig): void {
    this.#refused.set(id, { baseUrl: base_url, until: this.#now() + REFUSED_FOR_MS });
  }

  /** A challenge page answered an upgrade. Over HTTP the same turns may pass. */
  challenged({ id, base_url }: AccountConfig): void {
    this.#refused.set(id, { baseUrl: base_url, until: this.#now() + CHALLENGED_FOR_MS });
  }
}
