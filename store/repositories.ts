// The store over any engine's driver: the verbs of each table, as queued writes and portable queries.
import { randomUUID } from 'node:crypto';
import { changesVerbs } from './changes.ts';
import { derivedAttempt, isDerivable, succeededAtOnce } from './derived-attempt.ts';
import type { Driver } from './driver.ts';
import type { AuditFilter, RequestFilter } from './filters.ts';
import { leaseVerbs } from './leases.ts';
import { limitVerbs } from './limits.ts';
import { purge } from './purge.ts';
import { equals, oneOf, select, where } from './query.ts';
import { accountState, attempts, audit, catalog, credentials, files, pins, requests, runningConfig, usage } from './tables.ts';
import type { Store } from './verbs.ts';
import type { Writer } from './writer.ts';

const DEADLINE_MS = 5_000;
const LIST_ROWS = 100;
const MOST_LIST_ROWS = 1_000;
/** How long before `ended_since` a request of the list may have begun. */
const LOOK_BACK_MS = 3_600_000;

export interface StoreParts {
  readonly driver: Driver;
  readonly writer: Writer;
  /** Names this process in the change records. */
  readonly writerId: string;
  readonly clock: () => number;
}

/** Keyset paging: a page starts after the last row of the previous one, also when rows were added meanwhile. */
const page = ({ id, pools, since, before, limit = LIST_ROWS }: RequestFilter | AuditFilter) => ({
  where: [
    equals('id', id),
    oneOf('pool', pools),
    since === undefined ? undefined : where('at >= ?', since),
    before && where('(at, id) < (?, ?)', before.at, before.id),
  ],
  order: 'at DESC, id DESC',
  limit: Math.max(0, Math.min(limit, MOST_LIST_ROWS)),
});

export function repositories({ driver, writer, writerId, clock }: StoreParts): Store {
  const unexpired = () => where('expires_at > ?', clock());
  const unexpiredFile = () => where('(expires_at IS NULL OR expires_at > ?)', clock());
  let closing: Promise<void> | undefined;
  return {
    requests: {
      append(row, made = []) {
        writer.append(requests, row);
        if (!isDerivable(row, made)) for (const attempt of made) writer.append(attempts, attempt);
      },
      list(filter) {
        const { account, key_id, model, status, status_class, code, ended_since } = filter;
        const newest = page(filter);
        const own = [
          equals('account', account),
          equals('key_id', key_id),
          equals('model', model),
          equals('status', status),
          equals('status_class', status_class),
          equals('code', code),
          // The first condition is the one that an index serves.
          ended_since === undefined ? undefined : where('at >= ? AND at + duration_ms >= ?', ended_since - LOOK_BACK_MS, ended_since),
        ];
        return select(driver, requests, { ...newest, where: [...newest.where, ...own] });
      },
    },
    attempts: {
      async of(request) {
        const made = await select(driver, attempts, { where: [equals('request_id', request.id)], order: 'ordinal' });
        return made.length === 0 && succeededAtOnce(request) ? [derivedAttempt(request)] : made;
      },
    },
    catalog: {
      put: (row) => writer.put(catalog, row),
      load: () => select(driver, catalog, {}),
    },
    accounts: {
      patch: (patch) => writer.put(accountState, patch),
      load: () => select(driver, accountState, {}),
      async find(account, model) {
        await writer.flush(DEADLINE_MS);
        const [row] = await select(driver, accountState, { where: [equals('account', account), equals('model', model)] });
        return row;
      },
    },
    pins: {
      put: (row) => writer.put(pins, row),
      load: (limit) => select(driver, pins, { where: [unexpired()], order: 'expires_at DESC', limit }),
      async find(hash) {
        const [pin] = await select(driver, pins, { where: [equals('hash', hash), unexpired()] });
        return pin;
      },
    },
    credentials: {
      save: (row) => writer.save(credentials, row),
      async find(account) {
        const [row] = await select(driver, credentials, { where: [equals('account', account)] });
        return row;
      },
      load: () => select(driver, credentials, {}),
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
    usage: {
      add: (row) => writer.put(usage, row),
      load: (since) => select(driver, usage, { where: [where('day >= ?', since)] }),
    },
    audit: {
      record: (row) => writer.save(audit, { ...row, id: randomUUID() }),
      list(filter) {
        const newest = page(filter);
        const own = [equals('actor', filter.actor), equals('action', filter.action), equals('target', filter.target)];
        return select(driver, audit, { ...newest, where: [...newest.where, ...own] });
      },
    },
    runningConfig: {
      save: (row) => writer.save(runningConfig, row),
      async find() {
        const [row] = await select(driver, runningConfig, {});
        return row;
      },
    },
    changes: changesVerbs(driver, writerId),
    leases: leaseVerbs(driver, clock),
    limits: limitVerbs(driver, clock),
    purge: (limits) => purge(driver, limits, clock()),
    stats: () => writer.stats(),
    flush: (deadlineMs = DEADLINE_MS) => writer.flush(deadlineMs),
    close(deadlineMs = DEADLINE_MS) {
      closing ??= writer.close(deadlineMs).then(() => driver.close());
      return closing;
    },
  };
}
