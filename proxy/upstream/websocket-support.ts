// Which accounts take websockets: those that are configured so, except those that refused an upgrade a short time ago (Q6).
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { AccountConfig } from '../turn/settings.ts';

const REFUSED_FOR_MS = 3_600_000;
/** How long an account gets no upgrade after a network's guard answered one. The guard may let the next one pass (RB3). */
const CHALLENGED_FOR_MS = 300_000;

const NO_WEBSOCKET: ReadonlySet<number | undefined> = new Set([404, 405, 426, 501]);

/** Whether an upgrade that was refused with this status means that the account has no websocket (Q6). */
export const lacksWebsocket = (status: number | undefined): boolean => NO_WEBSOCKET.has(status);

interface RefusedUpgrade {
  readonly baseUrl: string;
  /** Unix milliseconds. */
  readonly until: number;
}

/** Each process learns about a refusal itself, because asking again costs one upgrade. */
export class WebsocketSupport {
  readonly #now: () => number;
  readonly #providerOf: ProviderOf;
  /** The refusals by account. Other accounts at the same address may still take websockets. */
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
    // An account that has moved to another address is asked again.
    if (refused.baseUrl === base_url && this.#now() < refused.until) return false;
    this.#refused.delete(id);
    return true;
  }

  /** Notes that an upgrade was refused. @returns whether the status means that the account has no websocket */
  refused(account: AccountConfig, status: number | undefined): boolean {
    const { id, base_url } = account;
    if (!lacksWebsocket(status)) return false;
    this.#refused.set(id, { baseUrl: base_url, until: this.#now() + REFUSED_FOR_MS });
    return true;
  }

  /** Notes that a challenge page answered an upgrade. Over HTTP the same turns may pass. */
  challenged({ id, base_url }: AccountConfig): void {
    this.#refused.set(id, { baseUrl: base_url, until: this.#now() + CHALLENGED_FOR_MS });
  }
}
