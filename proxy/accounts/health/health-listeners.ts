// Functions that are called when the health of an account changes.
import type { AccountHealth } from './account-health.ts';
import { type HealthStatus, healthStatus } from './health-status.ts';

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
