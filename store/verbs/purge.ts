// Retention: deletes old rows in small chunks. Each chunk is a transaction, so that other writers never wait long for the database.
import type { Driver } from '../driver.ts';
import { GRANTS_KEPT_MS, SLOTS_KEPT_MS } from '../schema/limit-rows.ts';
import {
  attempts,
  audit,
  changes,
  files,
  pins,
  requests,
  type Table,
  usage,
  usageDays,
  usageHours,
  usagePoolHours,
} from '../schema/tables.ts';
import { CHANGES_KEPT_MS } from './changes.ts';
import { DEAD_NODES_KEPT_MS } from './nodes.ts';
import { OWNERS_KEPT_MS } from './owner-verbs.ts';

/** Rows strictly older than these times of this process are deleted; a table without a limit keeps all rows. */
export interface PurgeLimits {
  readonly requestsBefore?: number;
  readonly auditBefore?: number;
  /** Pins that expired before this time. */
  readonly pinsBefore?: number;
  readonly usageBefore?: number;
  /** Files that expired before this time; a file without an expiry stays. */
  readonly filesBefore?: number;
}

/** The number of deleted rows. */
export interface Purged {
  readonly requests: number;
  readonly attempts: number;
  readonly audit: number;
  readonly pins: number;
  readonly usage: number;
  readonly files: number;
}

const CHUNK_ROWS = 500;

/**
 * The configuration of a node outlasts its process, because the next one compares its file with it. Nodes in containers often have a new
 * name at each start, and nothing compares with the configuration of a former name.
 */
const FORMER_NODES = "DELETE FROM running_config WHERE at < $1 AND name LIKE 'node/%' AND substr(name, 6) NOT IN (SELECT id FROM nodes)";

/**
 * Deletes old rows, and the leases, changes, nodes and reservations that no process can still need. Another process may still need what is
 * old by the clock of this one, so the clock counts that all processes share.
 */
export async function purge(driver: Driver, limits: PurgeLimits, clock: () => number): Promise<Purged> {
  const now = driver.now();
  const ahead = Math.max(0, clock() - now);
  const shared = (at: number | undefined): number | undefined => at && at - ahead;
  const [requestsBefore, auditBefore, pinsBefore, usageBefore, filesBefore] = [
    shared(limits.requestsBefore),
    shared(limits.auditBefore),
    shared(limits.pinsBefore),
    shared(limits.usageBefore),
    shared(limits.filesBefore),
  ];
  await driver.maintain('DELETE FROM leases WHERE expires_at < $1', [now]);
  // The versions are in the order of the times, and have an index.
  await remove(driver, changes, 'at', now - CHANGES_KEPT_MS, 'version');
  await driver.maintain('DELETE FROM nodes WHERE expires_at < $1', [now - DEAD_NODES_KEPT_MS]);
  await driver.maintain('DELETE FROM slots WHERE node NOT IN (SELECT token FROM nodes)', []);
  await driver.maintain('DELETE FROM key_slots WHERE slot < $1', [now - SLOTS_KEPT_MS]);
  await driver.maintain('DELETE FROM key_grants WHERE at < $1', [now - GRANTS_KEPT_MS]);
  await driver.maintain('DELETE FROM session_owners WHERE expires_at < $1', [now - OWNERS_KEPT_MS]);
  if (auditBefore !== undefined) await driver.maintain(FORMER_NODES, [auditBefore]);
  return {
    attempts: await remove(driver, attempts, 'at', requestsBefore),
    requests: await remove(driver, requests, 'at', requestsBefore),
    audit: await remove(driver, audit, 'at', auditBefore),
    pins: await remove(driver, pins, 'expires_at', pinsBefore),
    usage: await removeUsage(driver, usageBefore),
    files: await remove(driver, files, 'expires_at', filesBefore),
  };
}

async function removeUsage(driver: Driver, before: number | undefined): Promise<number> {
  const counts = [
    await remove(driver, usage, 'day', before),
    await remove(driver, usageHours, 'hour', before),
    await remove(driver, usageDays, 'day', before),
    await remove(driver, usagePoolHours, 'hour', before),
  ];
  return counts.reduce((sum, count) => sum + count);
}

/** @param order the column of an index, by which the oldest rows come first */
async function remove(driver: Driver, { name, key }: Table, column: string, before: number | undefined, order = column): Promise<number> {
  if (before === undefined) return 0;
  const keys = key.join(', ');
  const oldest = `SELECT ${keys} FROM ${name} WHERE ${column} < $1 ORDER BY ${order} LIMIT ${CHUNK_ROWS}`;
  let total = 0;
  for (;;) {
    const deleted = await driver.maintain(`DELETE FROM ${name} WHERE (${keys}) IN (${oldest})`, [before]);
    total += deleted;
    if (deleted < CHUNK_ROWS) return total;
  }
}
