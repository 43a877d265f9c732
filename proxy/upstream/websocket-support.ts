// The accounts that speak websocket: as configured, without those whose provider refused an upgrade in the last hour (Q6).
import type { AccountConfig } from '../turn/settings.ts';

/** An upgrade that is refused with one of these means that the provider has no websocket. */
const NO_WEBSOCKET: ReadonlySet<number | undefined> = new Set([404, 405, 426, 501]);
const REFUSED_FOR_MS = 3_600_000;

export const saysNoWebsocket = (status: number | undefined): boolean => NO_WEBSOCKET.has(status);

/** Each process finds out about a refusal for itself: asking again costs one upgrade. */
export class WebsocketSupport {
  readonly #now: () => number;
  /** By address: a moved account is asked again. */
  readonly #refusedAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether turns of websocket clients go to this account as frames. */
  has({ websocket, base_url }: AccountConfig): boolean {
    if (!websocket) return false;
    const at = this.#refusedAt.get(base_url);
    if (at === undefined || this.#now() - at < REFUSED_FOR_MS) return at === undefined;
    this.#refusedAt.delete(base_url);
    return true;
  }

  refused({ base_url }: AccountConfig): void {
    this.#refusedAt.set(base_url, this.#now());
  }
}
