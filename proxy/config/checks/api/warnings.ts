// Warns about settings of API accounts that are possible but rarely intended (AA6, AA12).
import { QUIRKS } from '../../../turn/provider/quirks.ts';
import type { Path, Problem } from '../../schema/finding.ts';
import { isMapping, mapping, type Row, rowsOf, text } from '../config-rows.ts';
import { type AccountRow, apiAccountRows, hasCredential } from './account-row.ts';

export function warnOfApiSettings(data: unknown): readonly Problem[] {
  const problems = [...apiAccountRows(data).flatMap((account) => [...settings(account)]), ...unpriced(data)];
  return problems.map((problem) => ({ ...problem, severity: 'warning' }));
}

/** How long native clients wait. */
const CLIENTS_WAIT_MS = 300_000;

function* settings(account: AccountRow): Generator<Problem> {
  const { path, row, api, preset } = account;
  const models = rowsOf(row, 'catalog', path);
  for (const name of ['first_byte_ms', 'idle_ms']) {
    if (typeof row[name] === 'number' && row[name] > CLIENTS_WAIT_MS)
      yield { path: [...path, name], message: 'native clients give up after 300000 ms' };
  }
  yield* quirksOfOthers(account);
  const at: Path = [...path, 'preset'];
  if (api === 'chat' && (preset?.name === 'openai' || preset?.name === 'azure'))
    yield { path: [...path, 'api'], message: `with api: chat newer models of ${preset.name} refuse tools together with reasoning` };
  if (preset?.name === 'openai' && (row.read_models === 'all' || (row.read_models === undefined && !declares(row))))
    yield {
      path: at,
      message:
        'all models of its list are served, also those for images and audio, and the list has no context windows: ' +
        'name the models to serve in catalog, with context_window',
    };
  if (preset?.name === 'azure' && !declares(row))
    yield { path: at, message: 'azure lists base models, not deployments: name these in catalog or models' };
  if (preset?.name === 'ollama' && (models.length === 0 || models.some(isWindowless)))
    yield { path: at, message: 'ollama cuts prompts silently at a size that it does not list: declare context_window in catalog' };
  else if (row.read_models === false) {
    for (const model of models.filter(isWindowless)) {
      const message = 'context_window is not declared and not read: native clients get 128000';
      yield { path: model.path, at: 'first-key', message };
    }
  }
}

/** Warns about quirks of another API. A quirk that a preset sets for its other API is not reported, because it is not in the file. */
function* quirksOfOthers({ path, row, api }: AccountRow): Generator<Problem> {
  for (const name of Object.keys(mapping(row.quirks))) {
    const apis: readonly string[] | undefined = Object.hasOwn(QUIRKS, name) ? QUIRKS[name as keyof typeof QUIRKS].apis : undefined;
    if (!apis || apis.includes(api)) continue;
    const message = `this quirk applies to ${apis.join(' and ')} accounts: it has no effect on a ${api} account`;
    yield { path: [...path, 'quirks', name], at: 'key', message };
  }
}

const declares = ({ catalog, models }: AccountRow['row']): boolean => catalog !== undefined || Object.keys(mapping(models)).length > 0;

const isWindowless = ({ row }: Row): boolean => row.context_window === undefined && row.kind !== 'embedding';

/** Warns about models without a price, for which a USD limit counts nothing. An account without a credential costs nothing. */
function* unpriced(data: unknown): Generator<Problem> {
  const limited = new Set(
    rowsOf(data, 'keys').flatMap(({ row }) => {
      const { usd_per_day, usd_per_week } = mapping(row.limits);
      return usd_per_day === undefined && usd_per_week === undefined ? [] : [text(row.pool)];
    }),
  );
  const accounts = new Map(apiAccountRows(data).map((account) => [text(account.row.id), account]));
  const reported = new Set<Row['row']>();
  for (const { path, row: pool } of rowsOf(data, 'pools')) {
    if (!limited.has(text(pool.id))) continue;
    for (const { row: assignment } of rowsOf(pool, 'assignments', path)) {
      const account = accounts.get(text(assignment.account));
      if (!account || !hasCredential(account)) continue;
      for (const model of rowsOf(account.row, 'catalog', account.path)) {
        if (reported.has(model.row) || model.row.prices !== undefined || isPriced(pool, exposedIds(account, text(model.row.id)))) continue;
        reported.add(model.row);
        yield { path: model.path, at: 'first-key', message: 'this model has no price, and a key of its Pool has a USD limit' };
      }
    }
  }
}

function exposedIds({ row }: AccountRow, own: string | undefined): readonly (string | undefined)[] {
  const exposed = Object.entries(mapping(row.models)).flatMap(([id, name]) => (name === own ? [id] : []));
  return exposed.length > 0 ? exposed : [own];
}

const isPriced = ({ models }: Row['row'], ids: readonly (string | undefined)[]): boolean =>
  ids.every((id) => {
    const model = id !== undefined && Object.hasOwn(mapping(models), id) ? mapping(models)[id] : undefined;
    return isMapping(model) && model.prices !== undefined;
  });
