// Another process, for the restart tests: it learns that an account cools down and that another must log in, and is killed.
import { openStore } from '../../../store/store.ts';
import { failure, healthOver } from './support.ts';

const store = await openStore(process.argv[2] ?? '', { clock: Date.now });
const { health, visit } = await healthOver(store, { bearers: { south: 'old' } });
visit('north', failure('rate', { retryAfterMs: 3_600_000 }));
visit('south', failure('credential'));
if (health.routable('north', 'model-a') || health.routable('south', 'model-a')) throw new Error('nothing was learnt');
await store.flush();
process.kill(process.pid, 'SIGKILL');
