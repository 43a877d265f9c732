// The listeners of operators: one for the console, the admin API and the commands, and one for the metrics alone.
import type { AddressInfo } from 'node:net';
import { AdminServer, type AdminSite } from '../admin/admin-listener.ts';
import type { AdminTarget } from '../admin/admin-target.ts';
import type { RunningLogins } from '../admin/answers/logins/running-logins.ts';
import { Measurements } from '../admin/measurements.ts';
import type { AdminConfig, Config } from '../config/config.ts';
import type { Cipher } from '../encryption/cipher.ts';
import type { Services } from './services.ts';

/** A listener that the configuration turns off has no address. */
export interface OperatorAddresses {
  readonly admin: AddressInfo | undefined;
  readonly metrics: AddressInfo | undefined;
}

export class OperatorListeners {
  readonly #gateway: AdminTarget & { readonly services: Services };
  readonly #cipher: Cipher;
  readonly #admin: AdminServer;
  readonly #metrics: AdminServer;
  /** Created when an operator first asks for the site. */
  #logins: RunningLogins | undefined;

  /** @param cipher encrypts the sessions of operators */
  constructor(gateway: AdminTarget & { readonly services: Services }, cipher: Cipher) {
    this.#gateway = gateway;
    this.#cipher = cipher;
    this.#admin = new AdminServer(gateway.services.log);
    this.#metrics = new AdminServer(gateway.services.log);
  }

  /** Resolves when connections are accepted. */
  async listen({ admin, metrics }: Config): Promise<OperatorAddresses> {
    const measurements = new Measurements(this.#gateway);
    return {
      admin: admin ? await this.#admin.listen(() => this.#site(admin, measurements), admin) : undefined,
      metrics: metrics ? await this.#metrics.listen(async () => measurements.site, metrics) : undefined,
    };
  }

  /** Loads the site before the first request of an operator. */
  async load(): Promise<void> {
    await this.#admin.load();
  }

  /** Ends the logins that wait for a person. */
  endLogins(): void {
    this.#logins?.close();
  }

  async close(): Promise<void> {
    await Promise.all([this.#admin.close(), this.#metrics.close()]);
  }

  async #site(admin: AdminConfig, measurements: Measurements): Promise<AdminSite> {
    const [{ OperatorsSite }, { RunningLogins }] = await Promise.all([
      import('../admin/operators-site.ts'),
      import('../admin/answers/logins/running-logins.ts'),
    ]);
    const gateway = this.#gateway;
    this.#logins = new RunningLogins({ gateway, upstreamOf: (account) => gateway.services.upstreams.of(account) });
    return new OperatorsSite({ gateway, logins: this.#logins, measurements, cipher: this.#cipher, admin });
  }
}
