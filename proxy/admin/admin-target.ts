// The parts of the running gateway that the admin listener uses: its state, its reload and its edits.
import type { Store } from '../../store/store.ts';
import type { Capacity } from '../accounts/capacity.ts';
import type { AccountUsage } from '../accounts/quota/account-usage.ts';
import type { OverloadGuard } from '../admission/overload-guard.ts';
import type { BodyMemory } from '../base/bytes/body-memory.ts';
import type { MemoryGuard } from '../base/bytes/memory-guard.ts';
import type { UploadMeter } from '../base/bytes/upload-meter.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { LoadedConfig } from '../config/config.ts';
import type { EditOptions, ResultOf } from '../config/file/edits/edit-config.ts';
import type { EditOrder } from '../config/file/edits/edit-order.ts';
import type { Reloaded, ReloadPreview } from '../config/loading/reloader.ts';
import type { SealedCapsules } from '../encryption/sealed-capsules.ts';
import type { TurnPreviews } from '../explain/facts.ts';
import type { OverflowSpending } from '../keys/overflow/overflow-spending.ts';
import type { Settlements } from '../keys/settlements.ts';
import type { Catalog } from '../models/catalog/catalog.ts';
import type { ModelDirectory } from '../models/model-directory.ts';
import type { NodesStatus } from '../nodes/nodes-status.ts';
import type { Continuity } from '../sessions/continuity.ts';
import type { WebsocketHistories } from '../sessions/websocket-histories.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { Credentials } from '../upstream/credentials/credentials.ts';
import type { TurnMetrics } from './metrics/turn-metrics.ts';
import type { AccountTester } from './replies/account-test-report.ts';

/** What this node knows of the other nodes on the store. */
export interface NodeTarget {
  /** Reads the nodes again. */
  refresh(): Promise<void>;
  status(): NodesStatus;
  readonly settlements: Pick<Settlements, 'rejected' | 'waiting'>;
}

export interface AdminTarget {
  /** The configuration with which new turns begin. */
  readonly loaded: Pick<LoadedConfig, 'config' | 'listenTls' | 'path'>;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Whether the gateway takes traffic. */
  readonly ready: boolean;
  readonly follower: {
    readonly lastReloadSucceeded: boolean;
    /** Reloads the file. @param actor the actor for audit rows @throws ConfigError if the file has errors; nothing changes then */
    reload(actor: string): Promise<Reloaded>;
    /** The changes that a reload would make. @throws ConfigError if the file has errors */
    preview(): Promise<ReloadPreview>;
    /**
     * Edits the file, and reloads it.
     * @param owned the Pools that may be changed; undefined means all
     * @throws ConfigError, InvalidEdit, EditError; nothing changes then
     */
    edit<Order extends EditOrder>(actor: string, order: Order, owned: EditOptions['owned']): Promise<ResultOf<Order>>;
  };
  readonly accountTester: AccountTester;
  readonly previews: TurnPreviews;
  readonly services: {
    readonly clock: Pick<Clock, 'after' | 'now'>;
    readonly providerOf: ProviderOf;
    readonly log: Pick<Log, 'error'>;
    readonly capacity: Pick<Capacity, 'admission' | 'health' | 'selection' | 'status'>;
    readonly credentials: Pick<Credentials, 'addressOf' | 'relogin' | 'replaceLogin' | 'vault'>;
    readonly catalog: Pick<Catalog, 'readNow'> & { readonly accounts: Pick<Catalog['accounts'], 'status'> };
    readonly continuity: Pick<Continuity, 'accountOf'>;
    readonly counters: Counters;
    readonly capsules: Pick<SealedCapsules, 'results'>;
    readonly histories: Pick<WebsocketHistories, 'bytes'>;
    readonly guard: Pick<OverloadGuard, 'status'>;
    readonly turnMetrics: TurnMetrics;
    readonly spending: Pick<OverflowSpending, 'states'>;
    /** The retries that are left in the budget of each Pool. */
    readonly retryBudgets: { left(now: number): readonly (readonly [string, number])[] };
    readonly models: Pick<ModelDirectory, 'models' | 'unlisted'>;
    /** Undefined if the store has one node. */
    readonly node: NodeTarget | undefined;
    readonly store: Pick<Store, 'attempts' | 'audit' | 'database' | 'flush' | 'inUse' | 'requests' | 'stats'>;
    readonly bodies: Pick<BodyMemory, 'held' | 'dense'>;
    readonly replies: Pick<MemoryGuard, 'held'>;
    readonly uploads: Pick<UploadMeter, 'held' | 'most'>;
    readonly usage: Pick<AccountUsage, 'readNow'> & { readonly quota: Pick<AccountUsage['quota'], 'rates' | 'status'> };
  };
  readonly websockets: {
    readonly count: number;
    readonly heldBytes: number;
    readonly ownedSessions: number;
  };
  /** Unix milliseconds that never jump. */
  now(): number;
  /** The wall clock's time in Unix milliseconds. */
  wallTime(): number;
}
