// Applies the changes that other processes on the store make to this process's memory (Q34).
import type { Change } from '../../store/store.ts';
import type { Services } from './services.ts';

/** Registers the consumers of changes. An embedded store needs them too, because during a restart the former gateway may still write. */
export function followOtherProcesses(services: Services): void {
  const { capacity, catalog, changes, continuity, exclusive, store, usageRefresh } = services;
  // Credentials are applied before account states, so that the refusal of a replaced bearer does not disable its account.
  changes.on('credentials', (keys) => followCredentials(services, keys));
  changes.on('account_state', async (keys) => {
    await capacity.refresh(keys);
    for (const [account] of keys) endFormerRefusal(services, String(account));
    for (const [account] of keys) exclusive.announce(`usage/${account}`);
  });
  if (!store.shared) return;
  changes.on('catalog', async (keys) => {
    for (const [account] of keys) {
      await catalog.refresh(String(account));
      exclusive.announce(`catalog/${account}`);
    }
  });
  changes.on('usage', (keys) =>
    usageRefresh.changed(keys.map(([key_id, pool, day]) => ({ key_id: String(key_id), pool: String(pool), day: Number(day) }))),
  );
  changes.on('pins', (keys) => continuity.forget(keys.map(([hash]) => String(hash))));
}

/** Ends refusals of accounts whose logins a command replaced in the store while no gateway ran. */
export function endFormerRefusals(services: Services, accounts: readonly { readonly id: string }[]): void {
  for (const { id } of accounts) endFormerRefusal(services, id);
}

async function followCredentials(services: Services, keys: readonly Change['key'][]): Promise<void> {
  const { capacity, credentials, store } = services;
  for (const key of keys) {
    const account = String(key[0]);
    const row = await store.credentials.find(account);
    if (row?.sealed === null) capacity.adoptRefusal(row);
    else if (store.shared) {
      // Not awaited, because a refresh in this process may be waiting for the next change.
      void credentials.adopt(account).then(
        () => endFormerRefusal(services, account),
        () => undefined,
      );
    }
  }
}

/** Ignores a refusal that is older than the account's login. It concerns the former login, and two nodes wrote at the same time. */
function endFormerRefusal({ capacity, credentials }: Services, account: string): void {
  const loginAt = credentials.loginAt(account);
  if (loginAt === undefined) return;
  const refused = capacity.states.rows(account).find(({ model, health }) => model === '' && health === 'reauth_required');
  if (refused && refused.updated_at < loginAt) capacity.health.reset(account);
}
