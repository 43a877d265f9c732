// The reply of GET /api/status: its type and its schema, for server and clients.
import type { AccountStatus, CapacityStatus } from '../../accounts/capacity.ts';
import type { LastFailure } from '../../accounts/health/health.ts';
import { type CooldownStatus, isChallenged } from '../../accounts/health/health-status.ts';
import type { QuotaStatus, WindowStatus } from '../../accounts/quota/quota-status.ts';
import type { Machine } from '../../base/process/machine.ts';
import type { CapState } from '../../keys/overflow/overflow-spending.ts';
import type { NodeStatus, NodesStatus } from '../../nodes/nodes-status.ts';
import {
  counts,
  flag,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  open,
  record,
  type Schema,
  text,
} from '../../turn/json/field-schemas.ts';
import type { Json } from '../../turn/json/json.ts';
import { checkOf } from '../api/reply-check.ts';

/** An account with the settings that limit it. */
export interface LimitedAccount extends AccountStatus {
  readonly paused: boolean;
  readonly visible: boolean;
  readonly maxConcurrent: number;
}

/** The model list of an account, from the last read of this process. */
export interface CatalogReply {
  readonly account: string;
  /** The number of models of the last good list. */
  readonly models: number;
  /** The reason why the last read failed. */
  readonly failure?: string | undefined;
  readonly bytes?: number | undefined;
  readonly ms?: number | undefined;
}

export interface PoolStatus {
  readonly pool: string;
  readonly strategy: string;
  /** The accounts of the Pool's assignments, in order. */
  readonly accounts: readonly string[];
  /** The accounts with an active and eligible assignment, in the same order. */
  readonly assigned: readonly string[];
  /** The Pool's caps, with the used and remaining amounts in US dollars. Absent without a cap. */
  readonly overflow?: readonly CapState[];
  /** The exposed ids of the Pool's models, including those that no account can serve now. Empty until a catalog was read. */
  readonly models: readonly string[];
}

export interface LimitedClass {
  readonly running: number;
  readonly waiting: number;
  readonly limits: { readonly running: number; readonly waiting: number };
}

/** Further members are for people, and differ between versions. */
export interface StatusReply {
  /** `versionOf` the running configuration. */
  readonly version: string;
  /** `redact` of the running configuration. */
  readonly config: Json;
  /** The gateway's clock in Unix milliseconds. */
  readonly now: number;
  /** The time in ISO 8601. */
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
  /** Present if several nodes share the store. */
  readonly sharing?: NodesStatus;
  readonly store: StoreStatus;
  /** Whether the last reload was refused, so that the configuration is not that of the file. */
  readonly reload_refused?: boolean;
}

export interface StoreStatus {
  /** The number of rows that wait to be written. */
  readonly queued: number;
  /** Since when nothing could be written, in Unix milliseconds. Null while writes succeed. */
  readonly failing_since: number | null;
  /** Whether another gateway has the SQLite file. */
  readonly in_use: boolean;
}

/** The accounts whose turns wait because a network's guard answers them. */
export const challengedAccounts = (accounts: readonly LimitedAccount[]): readonly LimitedAccount[] => accounts.filter(isChallenged);

const CONFIG: Schema<Json> = {
  json: { type: 'object', description: 'The running configuration; private values are replaced by marks that can be compared.' },
};

/** JSON has no undefined members. */
const COOLDOWN = open(
  object({ phase: oneOf(['cooling', 'due', 'probing'], 'due: the next turn probes it.') }, 'A cooldown.', {
    cause: text('What failed.') as Schema<NonNullable<CooldownStatus['cause']>>,
    until: number('When the next turn may probe it, Unix milliseconds.'),
  }),
) as Schema<unknown> as Schema<CooldownStatus>;

const ACCOUNT = open(
  object(
    {
      account: text('Id of the account.'),
      status: oneOf(['active', 'reauth_required', 'failing'], 'Its health.'),
      models: record('Cooldowns of single models and paths.', COOLDOWN),
      exemptModels: list('Models that a cooldown of the account does not concern.', text('Exposed model id.')),
      inFlight: integer('Attempts that run there.'),
      compaction: open(
        object({ way: oneOf(['route', 'trigger', 'summary', 'none'], 'How conversations are compacted there.') }, undefined, {
          missingSince: number('When its compact path was missing, Unix milliseconds.'),
        }),
      ),
      paused: flag('By an operator.'),
      visible: flag('False: switched off.'),
      maxConcurrent: integer('Turns at the same time.'),
    },
    undefined,
    {
      cooldown: COOLDOWN,
      lastFailure: open(object({ cause: text('What failed.') as Schema<LastFailure['cause']>, at: number('When, Unix milliseconds.') })),
    },
  ),
) as Schema<unknown> as Schema<LimitedAccount>;

const QUOTA: Schema<QuotaStatus> = open(
  object({
    account: text('Id of the account.'),
    status: oneOf(['available', 'reserved', 'exhausted', 'unknown'], 'What its provider stated.'),
    until: nullable(number('When it is usable again, Unix milliseconds.')),
    windows: list(
      'As stated.',
      open(
        object({
          class: text('Class of the window.') as Schema<WindowStatus['class']>,
          seconds: number('Its length.'),
          used_percent: number('100 is exhausted.'),
          resets_at: nullable(number('Unix seconds.')),
          source: text('Where it was stated.') as Schema<WindowStatus['source']>,
          stated_at: number('Unix milliseconds.'),
        }),
      ),
    ),
  }),
);

const POOL: Schema<PoolStatus> = open(
  object(
    {
      pool: text('Id of the Pool.'),
      strategy: text('How an account is chosen.'),
      accounts: list('Of its assignments.', text('Id of an account.')),
      assigned: list('Those with an active and eligible assignment.', text('Id of an account.')),
      models: list('Exposed ids.', text('Exposed model id.')),
    },
    undefined,
    { overflow: { json: { type: 'array', items: { type: 'object' }, description: 'Its caps.' } } as Schema<readonly CapState[]> },
  ),
);

const CLASS: Schema<LimitedClass> = open(
  object({
    running: integer('Turns that run.'),
    waiting: integer('Turns that wait.'),
    limits: object({ running: integer('Most at the same time.'), waiting: integer('Most that wait.') }),
  }),
);

const NODE: Schema<NodeStatus> = open(
  object({
    node: text('Its id.'),
    address: nullable(text('Of its internal listener.')),
    version: text('Of the program.'),
    config: text('Digest of what its configuration has in common with the others.'),
    state: oneOf(['this', 'alive', 'dead'], 'Whether it runs.'),
    differs: flag('Whether its configuration differs from that of this node.'),
    started_at: text('ISO 8601.'),
    lease_until: number('Unix milliseconds.'),
    slots: integer('Of accounts.'),
    leases: integer('That it holds.'),
  }),
);

export const SHARING: Schema<NodesStatus> = open(
  object({
    nodes: list('On the store.', NODE),
    standing: oneOf(['member', 'unsure', 'cut_off'], 'Of this node.') as Schema<NodesStatus['standing']>,
    store: oneOf(['reachable', 'unreachable'], 'The database.'),
    feed: oneOf(['connected', 'polling'], 'Whether changes of other nodes arrive at once.'),
    settlements_waiting: integer('To be written.'),
    slots: counts('Account to slots of this node.'),
  }),
);

export const STATUS: Schema<StatusReply> = open(
  object(
    {
      version: text('Digest of the running configuration.'),
      config: CONFIG,
      now: number("The gateway's clock, Unix milliseconds."),
      started_at: text('ISO 8601.'),
      ready: flag('Whether it takes traffic.'),
      node: text('Version of Node.js.'),
      machine: object({
        memory_bytes: integer('Usable memory.'),
        open_files: nullable(integer('Most open files; null without a limit.')),
        unit: nullable(object({ name: text('Of the service.'), notify: flag('Whether systemd waits for a notification.') })),
      }),
      accounts: list('In configuration order.', ACCOUNT),
      quota: list('By account.', QUOTA),
      pools: list('In configuration order.', POOL),
      admission: record('By route class.', CLASS),
      counters: counts('Counters of the process.'),
      catalogs: list(
        'Model lists by account.',
        open(
          object({ account: text('Id of the account.'), models: integer('Of the last good list.') }, undefined, {
            failure: text('Why the last read failed.'),
            bytes: integer('Of the list.'),
            ms: number('Of the read.'),
          }),
        ),
      ),
      store: open(
        object({
          queued: integer('Rows that wait to be written.'),
          failing_since: nullable(number('Unix milliseconds; null while writes succeed.')),
          in_use: flag('Whether another gateway has the SQLite file.'),
        }),
      ),
    },
    undefined,
    { sharing: SHARING, reload_refused: flag('Whether the last reload was refused, so that the configuration is not that of the file.') },
  ),
);

export const isStatusReply = checkOf(STATUS);
