// The store over any engine's driver: the verbs of each table, as queued writes and portable queries.
import { randomUUID } from 'node:crypto';
import type { Driver } from '../driver.ts';
import { trimLog } from '../log-size.ts';
import { checkValueVerbs } from '../schema/check-values.ts';
import type { AuditFilter } from '../schema/filters.ts';
import { type Condition, equals, isIn, operators, select, selectKeys, where } from '../schema/query.ts';
import type { AccountStatePatch, NewPin, StampedAccountState } from '../schema/rows.ts';
import { accountState, audit, catalog, credentialImports, credentials, files, movedPins, pins, runningConfig } from '../schema/tables.ts';
import type { Writer } from '../writing/writer.ts';
import { together } from '../writing/writer-stats.ts';
import { changesVerbs } from './changes.ts';
import type { Lease } from './lease-verbs.ts';
import { heldBy, leaseVerbs, PUT_BACK_MS } from './leases.ts';
import { limitVerbs } from './limits.ts';
import { logVerbs } from './log-verbs.ts';
import { nodeVerbs } from './nodes.ts';
import { sessionOwnerVerbs } from './owner-verbs.ts';
import { purge } from './purge.ts';
import { slotVerbs } from './slots.ts';
import { exchangeVerbs } from './token-exchanges.ts';
import type { Store } from './verbs.ts';

const DEADLINE_MS = 5_000;
const LIST_ROWS = 100;
const MOST_LIST_ROWS = 1_000;
/** The fields of an account's health that are decided together. */
const DECIDED = ['health', 'cooldown_until', 'streak', 'cause'] as const;
/** The share of the queue up to which soft pins are accepted. */
const SOFT_SHARE = 0.8;

const roomOf = ({ isSoft }: NewPin): number => (isSoft ? SOFT_SHARE : 1);

export interface StoreParts {
  readonly driver: Driver;
  readonly writer: Writer;
  /** The writer of pins: the same as for other rows, or a separate one. */
  readonly pinWriter: Writer;
  /** Names this process in the change records. */
  readonly writerId: string;
  readonly clock: () => number;
}

/** After the clock was set back, stored health with a later time would replace all health that is decided until then. */
function endFutureDecisions({ now, run }: Driver): Promise<number> {
  const at = now();
  return run('UPDATE account_state SET health_at = $1 WHERE health_at > $2', [at, at + PUT_BACK_MS]);
}

/** Keyset paging: a page starts after the last row of the previous one, even if rows were added between the two. */
const page = ({ id, since, until, before, limit = LIST_ROWS }: AuditFilter) => ({
  where: [
    equals('id', id),
    since === undefined ? undefined : where('at >= ?', since),
    until === undefined ? undefined : where('at < ?', until),
    before && where('(at, id) < (?, ?)', before.at, before.id),
  ],
  order: 'at DESC, id DESC',
  limit: Math.max(0, Math.min(limit, MOST_LIST_ROWS)),
});

/** The audit rows of the Pools, and those of accounts, which belong to no single Pool. */
function concerned({ pools, accounts }: AuditFilter): Condition | undefined {
  const ofPools = isIn('pool', pools);
  const ofAccounts = isIn('target', accounts);
  if (!ofPools || !ofAccounts) return ofPools;
  const sql = `(${ofPools.sql} OR (pool IS NULL AND (action LIKE 'account.%' OR action LIKE 'credential.%') AND ${ofAccounts.sql}))`;
  return where(sql, ...ofPools.values, ...ofAccounts.values);
}

export function repositories({ driver, writer, pinWriter, writerId, clock }: StoreParts): Store {
  const writers = [...new Set([writer, pinWriter])];
  const unexpired = () => where('expires_at > ?', clock());
  const unexpiredFile = () => where('(expires_at IS NULL OR expires_at > ?)', clock());
  const stamped = (patch: AccountStatePatch): StampedAccountState =>
    DECIDED.some((column) => patch[column] !== undefined) ? { ...patch, health_at: driver.now() } : patch;
  const held = (lease: Lease) => () => heldBy(lease, driver.now());
  let closing: Promise<number> | undefined;
  const closed = async (deadlineMs: number): Promise<number> => {
    const lost = await Promise.all(writers.map((one) => one.close(deadlineMs)));
    await driver.close();
    return lost.reduce((sum, rows) => sum + rows);
  };
  return {
    shared: driver.shared,
    ...logVerbs(driver, writer),
    catalog: {
      put: (row) => writer.put(catalog, row),
      putUnder: (lease, row) => writer.saveGuarded(catalog, row, held(lease)),
      load: () => select(driver, catalog, {}),
      async find(account) {
        const [row] = await select(driver, catalog, { where: [equals('account', account)] });
        return row;
      },
    },
    accounts: {
      patch: (patch) => writer.put(accountState, stamped(patch)),
      patchNow: (patch) => void writer.save(accountState, stamped(patch)).catch(() => undefined),
      patchUnder: (lease, patch) => writer.saveGuarded(accountState, stamped(patch), held(lease)),
      async load() {
        await endFutureDecisions(driver).catch(() => undefined);
        return select(driver, accountState, {});
      },
      async find(keys) {
        await writer.flush(DEADLINE_MS);
        return selectKeys(driver, accountState, keys);
      },
    },
    pins: {
      put: (row) => pinWriter.offer(pins, row, roomOf(row)),
      putNow(rows) {
        for (const row of rows) pinWriter.offer(pins, row, roomOf(row));
        pinWriter.hasten();
      },
      save: (row) => pinWriter.saveSoon(pins, row, roomOf(row)),
      move: (row) => pinWriter.saveSoon(movedPins, row, roomOf(row)),
      load: (limit) => select(driver, pins, { where: [unexpired()], order: 'expires_at DESC', limit }),
      async find(hash) {
        const [pin] = await select(driver, pins, { where: [equals('hash', hash), unexpired()] });
        return pin;
      },
    },
    credentials: {
      save: (row) => writer.save(credentials, row),
      saveUnder: (lease, row) => writer.saveGuarded(credentials, row, held(lease)),
      async find(account) {
        const [row] = await select(driver, credentials, { where: [equals('account', account)] });
        return row;
      },
      load: () => select(driver, credentials, {}),
      exchange: exchangeVerbs(driver, writer),
      recordImport: (row) => writer.save(credentialImports, row),
      async wasImported(account, imported) {
        const known = await select(driver, credentialImports, { where: [equals('account', account), equals('imported', imported)] });
        return known.length > 0;
      },
      importsOf: (imported) => select(driver, credentialImports, { where: [equals('imported', imported)], order: 'at' }),
    },
    files: {
      save: (row) => writer.save(files, row),
      async find(pool, id) {
        const [file] = await select(driver, files, { where: [equals('pool', pool), equals('id', id), unexpiredFile()] });
        return file;
      },
      list({ pool, purpose, order = 'desc', after, limit }) {
        const behind = after && where(`(created_at, id) ${order === 'desc' ? '<' : '>'} (?, ?)`, after.at, after.id);
        return select(driver, files, {
          where: [equals('pool', pool), equals('purpose', purpose), unexpiredFile(), behind],
          order: order === 'desc' ? 'created_at DESC, id DESC' : 'created_at, id',
          limit,
        });
      },
    },
    audit: {
      record: (row) => writer.save(audit, { ...row, id: randomUUID() }),
      list(filter) {
        const newest = page(filter);
        const own = [concerned(filter), equals('actor', filter.actor), equals('action', filter.action), equals('target', filter.target)];
        return select(operators(driver), audit, { ...newest, where: [...newest.where, ...own] });
      },
    },
    runningConfig: {
      save: (row) => writer.save(runningConfig, row),
      async find(name) {
        const [row] = await select(driver, runningConfig, { where: [equals('name', name)] });
        return row;
      },
    },
    changes: changesVerbs(driver, writerId),
    leases: driver.leases ?? leaseVerbs(driver, clock),
    sessionOwners: sessionOwnerVerbs(driver),
    limits: limitVerbs(driver, writer, clock),
    nodes: nodeVerbs(driver, clock),
    slots: slotVerbs(driver),
    checkValues: checkValueVerbs(driver),
    purge: (limits) => purge(driver, limits, clock),
    trimLog: (bytes) => trimLog(driver, bytes),
    stats: () => writers.map((one) => one.stats()).reduce(together),
    database: () => driver.stats?.(),
    inUse: () => driver.inUse?.() ?? false,
    flush: async (deadlineMs = DEADLINE_MS) => (await Promise.all(writers.map((one) => one.flush(deadlineMs)))).every(Boolean),
    close(deadlineMs = DEADLINE_MS) {
      closing ??= closed(deadlineMs);
      return closing;
    },
  };
}
