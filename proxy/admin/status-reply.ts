// The reply of GET /status: its type for both sides, and the checks of a client that receives it.

import type { AccountStatus, CapacityStatus } from '../accounts/capacity.ts';
import type { CompactStatus } from '../accounts/compact-paths.ts';
import type { LastFailure } from '../accounts/health/health.ts';
import { type CooldownStatus, isChallenged } from '../accounts/health/health-status.ts';
import type { QuotaStatus, WindowStatus } from '../accounts/quota/quota-status.ts';
import type { Machine, SystemdUnit } from '../base/process/machine.ts';
import type { CapState } from '../keys/overflow/overflow-spending.ts';
import type { NodeStatus, NodesStatus } from '../nodes/nodes-status.ts';
import type { Json } from '../turn/json/json.ts';
import { boolean, type Check, list, nullable, number, object, oneOf, optional, record, string } from './reply-checks.ts';

/** The part of it that a comparison of the file with the running configuration reads. */
export interface RunningReply {
  /** `versionOf` the running configuration. */
  readonly version: string;
  /** `redact` of the running configuration. */
  readonly config: Json;
}

/** An account with the settings that limit it. */
export interface LimitedAccount extends AccountStatus {
  readonly paused: boolean;
  readonly visible: boolean;
  readonly maxConcurrent: number;
}

/** The model list of an account, as this process read it last. */
export interface CatalogReply {
  readonly account: string;
  /** Why the last read failed. */
  readonly failure?: string | undefined;
  readonly bytes?: number | undefined;
  readonly ms?: number | undefined;
}

export interface PoolStatus {
  readonly pool: string;
  readonly strategy: string;
  /** Accounts of its assignments, in their order. */
  readonly accounts: readonly string[];
  /** The accounts with an active and eligible assignment, in the same order. */
  readonly assigned: readonly string[];
  /** Its caps, with what is spent and left in US dollars; absent without a cap. */
  readonly overflow?: readonly CapState[];
  /** The exposed ids of its models, also of those that no account can serve at the moment; empty until a catalog was read. */
  readonly models: readonly string[];
}

export interface LimitedClass {
  readonly running: number;
  readonly waiting: number;
  readonly limits: { readonly running: number; readonly waiting: number };
}

/** Further members are for people, and differ between versions. */
export interface StatusReply extends RunningReply {
  /** The gateway's clock, Unix milliseconds. */
  readonly now: number;
  /** ISO 8601. */
  readonly started_at: string;
  readonly ready: boolean;
  readonly node: string;
  readonly machine: Machine;
  readonly accounts: readonly LimitedAccount[];
  readonly quota: readonly QuotaStatus[];
  readonly pools: readonly PoolStatus[];
  readonly admission: Readonly<Record<keyof CapacityStatus['admission'], LimitedClass>>;
  readonly counters: Readonly<Record<string, number>>;
  readonly catalogs: readonly CatalogReply[];
  /** Present where several nodes share the store. */
  readonly sharing?: NodesStatus;
  readonly store: StoreStatus;
}

export interface StoreStatus {
  /** Rows that wait to be written. */
  readonly queued: number;
  /** Since when nothing could be written, Unix milliseconds; null while writes succeed. */
  readonly failing_since: number | null;
  /** Whether another gateway has the SQLite file. */
  readonly in_use: boolean;
}

/** The accounts whose turns wait because a network's guard answers them. */
export const challengedAccounts = (accounts: readonly LimitedAccount[]): readonly LimitedAccount[] => accounts.filter(isChallenged);

/** A result of `JSON.parse`. */
const isConfig = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

const isPhase = object<Omit<CooldownStatus, 'until' | 'cause'>>({ phase: oneOf('cooling', 'due', 'probing') });

const isCooldown = (value: unknown): value is CooldownStatus => {
  if (!isPhase(value)) return false;
  const { cause, until } = value as Partial<CooldownStatus>;
  return optional(string)(cause) && optional(number)(until);
};

const isWay = object<Pick<CompactStatus, 'way'>>({ way: oneOf('route', 'trigger', 'summary', 'none') });

const isCompaction = (value: unknown): value is CompactStatus =>
  isWay(value) && optional(number)((value as Partial<CompactStatus>).missingSince);

const isStated = object<Omit<LimitedAccount, 'cooldown' | 'lastFailure'>>({
  account: string,
  status: oneOf('active', 'reauth_required', 'failing'),
  models: record(isCooldown),
  exemptModels: list(string),
  inFlight: number,
  compaction: isCompaction,
  paused: boolean,
  visible: boolean,
  maxConcurrent: number,
});

/** Shown unchanged. */
const isCause = (value: unknown): value is LastFailure['cause'] => string(value);

const isFailure = object<LastFailure>({ cause: isCause, at: number });

const isAccount: Check<LimitedAccount> = (value): value is LimitedAccount => {
  if (!isStated(value)) return false;
  const { cooldown, lastFailure } = value as Partial<LimitedAccount>;
  return optional(isCooldown)(cooldown) && optional(isFailure)(lastFailure);
};

const isWindow = object<WindowStatus>({
  class: (value): value is WindowStatus['class'] => string(value),
  seconds: number,
  used_percent: number,
  resets_at: nullable(number),
  source: string,
  stated_at: number,
});

const isQuota = object<QuotaStatus>({
  account: string,
  status: oneOf('available', 'reserved', 'exhausted', 'unknown'),
  until: nullable(number),
  windows: list(isWindow),
});

const isPool = object<Omit<PoolStatus, 'overflow'>>({
  pool: string,
  strategy: string,
  accounts: list(string),
  assigned: list(string),
  models: list(string),
});

const isClass = object<LimitedClass>({
  running: number,
  waiting: number,
  limits: object<LimitedClass['limits']>({ running: number, waiting: number }),
});

export const isRunningReply = object<RunningReply>({ version: string, config: isConfig });

const isNode = object<NodeStatus>({
  node: string,
  address: nullable(string),
  version: string,
  config: string,
  state: oneOf('this', 'alive', 'dead'),
  differs: boolean,
  started_at: string,
  lease_until: number,
  slots: number,
  leases: number,
});

const isSharing = object<NodesStatus>({
  nodes: list(isNode),
  standing: oneOf('member', 'unsure', 'cut_off'),
  store: oneOf('reachable', 'unreachable'),
  feed: oneOf('connected', 'polling'),
  settlements_waiting: number,
  slots: record(number),
});

const isStore = object<StoreStatus>({ queued: number, failing_since: nullable(number), in_use: boolean });

const isNamed = object<Pick<CatalogReply, 'account'>>({ account: string });

const isCatalog: Check<CatalogReply> = (value): value is CatalogReply => {
  if (!isNamed(value)) return false;
  const { failure, bytes, ms } = value as Partial<CatalogReply>;
  return optional(string)(failure) && optional(number)(bytes) && optional(number)(ms);
};

export const isStatusReply: Check<StatusReply> = (value): value is StatusReply => {
  if (!isStatus(value)) return false;
  const { sharing } = value as Partial<StatusReply>;
  return optional(isSharing)(sharing);
};

const isStatus = object<Omit<StatusReply, 'sharing'>>({
  version: string,
  config: isConfig,
  now: number,
  started_at: string,
  ready: boolean,
  node: string,
  machine: object<Machine>({
    memory_bytes: number,
    open_files: nullable(number),
    unit: nullable(object<SystemdUnit>({ name: string, notify: boolean })),
  }),
  accounts: list(isAccount),
  quota: list(isQuota),
  pools: list(isPool),
  admission: record(isClass),
  counters: record(number),
  catalogs: list(isCatalog),
  store: isStore,
});
