// The accounts that speak websocket: as configured, without those whose provider refused an upgrade a short time ago (Q6).
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { AccountConfig } from '../turn/settings.ts';

const REFUSED_FOR_MS = 3_600_000;
/** A network's guard answered the upgrade: it may let the next one pass (RB3). */
const CHALLENGED_FOR_MS = 300_000;

interface RefusedUpgrade {
  readonly baseUrl: string;
  /** Unix milliseconds. */
  readonly until: number;
}

/** Each process finds out about a refusal for itself: asking again costs one upgrade. */
export class WebsocketSupport {
  readonly #now: () => number;
  readonly #providerOf: ProviderOf;
  /** By account: other accounts at the same address may have what this one lacks. */
  readonly #refused = new Map<string, RefusedUpgrade>();

  constructor(now: () => number, providerOf: ProviderOf) {
    this.#now = now;
    this.#providerOf = providerOf;
  }

  /** Whether turns of websocket clients go to this account as frames. */
  has(account: AccountConfig): boolean {
    const { id, websocket, base_url } = account;
    if (!websocket || !this.#providerOf(account).requests.frames) return false;
    const refused = this.#refused.get(id);
    if (!refused) return true;
    // An account that moved to another address is asked again.
    if (refused.baseUrl === base_url && this.#now() < refused.until) return false;
    this.#refused.delete(id);
    return true;
  }

  /** An upgrade was refused. @returns whether its status means that the account has no websocket */
  refused(account: AccountConfig, status: number | undefined): boolean {
    const { id, base_url } = account;
    if (!this.#providerOf(account).requests.frames?.isAbsent(status)) return false;
    this.#refused.set(id, { baseUrl: base_url, until: this.#now() + REFUSED_FOR_MS });
    return true;
  }

  /** A challenge page answered an upgrade. Over HTTP the same turns may pass. */
  challenged({ id, base_url }: AccountConfig): void {
    this.#refused.set(id, { baseUrl: base_url, until: this.#now() + CHALLENGED_FOR_MS });
  }
}
