// The store over any adapter: each table's verbs, as queued writes and portable queries.
import { randomUUID } from 'node:crypto';
import type { Driver } from './driver.ts';
import type { AuditFilter, RequestFilter } from './filters.ts';
import { onlyAttempt, saysTheSame, wentWell } from './only-attempt.ts';
import { purge } from './purge.ts';
import { equals, oneOf, select, where } from './query.ts';
import type { Store } from './store.ts';
import { accountState, attempts, audit, catalog, credentials, pins, requests, usage } from './tables.ts';
import type { Writer } from './writer.ts';

const DEADLINE_MS = 5_000;
const LIST_ROWS = 100;
const MOST_LIST_ROWS = 1_000;

/** Keyset paging: a page starts behind the place where the last one ended, however many rows came meanwhile. */
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

export function repositories(driver: Driver, writer: Writer, clock: () => number): Store {
  const unexpired = () => where('expires_at > ?', clock());
  let closing: Promise<void> | undefined;
  return {
    requests: {
      append(row, made = []) {
        writer.append(requests, row);
        if (!saysTheSame(row, made)) for (const attempt of made) writer.append(attempts, attempt);
      },
      list(filter) {
        const { account, model, status_class, code } = filter;
        const newest = page(filter);
        const own = [equals('account', account), equals('model', model), equals('status_class', status_class), equals('code', code)];
        return select(driver, requests, { ...newest, where: [...newest.where, ...own] });
      },
    },
    attempts: {
      async of(request) {
        const made = await select(driver, attempts, { where: [equals('request_id', request.id)], order: 'ordinal' });
        return made.length === 0 && wentWell(request) ? [onlyAttempt(request)] : made;
      },
    },
    catalog: {
      put: (row) => writer.put(catalog, row),
      load: () => select(driver, catalog, {}),
    },
    accounts: {
      put: (row) => writer.put(accountState, row),
      load: () => select(driver, accountState, {}),
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
    purge: (limits) => purge(driver, limits),
    stats: () => writer.stats(),
    flush: (deadlineMs = DEADLINE_MS) => writer.flush(deadlineMs),
    close(deadlineMs = DEADLINE_MS) {
      closing ??= writer.close(deadlineMs).then(() => driver.close());
      return closing;
    },
  };
}
