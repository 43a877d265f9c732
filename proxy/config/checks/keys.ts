// Checks keys and operators: demonstration secrets, expiry times, and USD limits without prices.
import { msOfIso } from '../../base/time/iso-time.ts';
import { isRehearsal } from '../../turn/provider/rehearsal-address.ts';
import type { Problem } from '../schema/finding.ts';
import { accountRows } from './api/account-row.ts';
import { isMapping, mapping, type Row, rowsOf, text, textsAt } from './config-rows.ts';

/** SHA-256 of `pg-demo-key-for-the-rehearsal-only` and `pg-demo-token-for-the-rehearsal-only`, which config.yaml makes public. */
const DEMO_HASHES: ReadonlySet<string> = new Set([
  '03ae7417bc71c21d85f84c6097b14183afee778e60b9667c849c75ebbca4fafb',
  '90f4ac3f4c2e4f27912c75879d6e69a9460c42d24a0cfd72c14a80c047d3b05c',
]);

/** @param now Unix milliseconds */
export function checkKeys(data: unknown, now: number): readonly Problem[] {
  return [...demonstrationSecrets(data), ...expiries(data, now), ...prices(data)];
}

function* demonstrationSecrets(data: unknown): Generator<Problem> {
  const real = new Set(
    accountRows(data).flatMap(({ row, preset }) =>
      (text(row.base_url) ?? preset?.base_url) && !isRehearsal(row.base_url) ? (text(row.id) ?? []) : [],
    ),
  );
  const exposed = new Set(
    rowsOf(data, 'pools').flatMap(({ path, row }) =>
      rowsOf(row, 'assignments', path).some((assignment) => real.has(text(assignment.row.account) ?? '')) ? [row.id] : [],
    ),
  );
  for (const key of rowsOf(data, 'keys')) {
    if (exposed.has(key.row.pool)) yield* demonstration(key, 'secret_sha256', 'key: create one with `poolgate key create`');
  }
  for (const operator of rowsOf(data, 'operators')) {
    const pools = [...textsAt(operator.row, 'owns', operator.path), ...textsAt(operator.row, 'assigned', operator.path)];
    if (pools.some((pool) => exposed.has(pool.text)))
      yield* demonstration(operator, 'token_sha256', 'token: create one with `poolgate token create`');
  }
}

function* demonstration({ path, row }: Row, list: string, what: string): Generator<Problem> {
  for (const hash of textsAt(row, list, path)) {
    if (DEMO_HASHES.has(hash.text))
      yield { path: hash.path, message: `a Pool with a real account does not accept the shipped demonstration ${what}` };
  }
}

function* expiries(data: unknown, now: number): Generator<Problem> {
  for (const { path, row } of rowsOf(data, 'keys')) {
    const written = text(row.expires_at);
    if (written === undefined) continue;
    const at = msOfIso(written);
    // The schema reports text that does not have the form of a time.
    if (Number.isNaN(at)) {
      if (/^\d{4}-\d{2}-\d{2}T/.test(written)) yield { path: [...path, 'expires_at'], message: 'this date or time does not exist' };
    } else if (at <= now && (row.status ?? 'active') === 'active') {
      yield { path: [...path, 'expires_at'], message: 'this key has expired', severity: 'warning' };
    }
  }
}

/** Warns about USD limits without prices. They have no effect, because every turn then costs nothing. */
function* prices(data: unknown): Generator<Problem> {
  const isPriced = (model: unknown): boolean => isMapping(model) && model.prices !== undefined;
  const accounts = new Set(
    rowsOf(data, 'accounts').flatMap(({ row }) => (rowsOf(row, 'catalog').some((model) => isPriced(model.row)) ? [row.id] : [])),
  );
  const priced = new Set(
    rowsOf(data, 'pools').flatMap(({ row }) => {
      const isSold = rowsOf(row, 'assignments').some((assignment) => accounts.has(assignment.row.account));
      return isSold || Object.values(mapping(row.models)).some(isPriced) ? [row.id] : [];
    }),
  );
  for (const { path, row } of rowsOf(data, 'keys')) {
    const limits = mapping(row.limits);
    const limit = ['usd_per_day', 'usd_per_week'].find((name) => limits[name] !== undefined);
    if (limit === undefined || priced.has(row.pool)) continue;
    const message = 'no model of this Pool has prices, so this limit is never reached';
    yield { path: [...path, 'limits', limit], at: 'key', message, severity: 'warning' };
  }
}
