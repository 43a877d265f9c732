// A process for the restart tests: one account is in a cooldown, another needs another credential, and the process kills itself.
import { openStore } from '../../../store/store.ts';
import { failure, healthOver } from './support.ts';

const store = await openStore(process.argv[2] ?? '', { clock: Date.now });
const { health, attempt } = await healthOver(store, { bearers: { south: 'old' } });
attempt('north', failure('rate', { retryAfterMs: 3_600_000 }));
attempt('south', failure('credential'));
if (health.routable('north', 'model-a') || health.routable('south', 'model-a')) throw new Error('no failure was recorded');
await store.flush();
process.kill(process.pid, 'SIGKILL');
