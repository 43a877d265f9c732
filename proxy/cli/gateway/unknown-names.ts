// Names that the running gateway does not have, because a mistyped name in a filter or in an edit looks like one that is not used.
import { rowsOf } from '../../config/checks/config-rows.ts';
import { suggestion } from '../../config/schema/suggestion.ts';
import { CommandFailure, type Io } from '../command.ts';
import { type AdminAddress, adminIn } from './address.ts';
import { fetchStatus } from './calls.ts';

/** The names of a filter: ids, and for an account its label too. */
export interface NameFilter {
  readonly key?: string | undefined;
  readonly pool?: string | undefined;
  readonly account?: string | undefined;
  readonly model?: string | undefined;
}

const NOUNS: Readonly<Record<keyof NameFilter, string>> = { key: 'key', pool: 'Pool', account: 'account', model: 'model' };

/**
 * One line for each unknown name, for a filter that matched no row. Empty if all names are known, and if the
 * gateway does not list its names to this operator: only one who sees all Pools gets them. Rows may have names of a former configuration, so no name is an error.
 */
export async function unknownNames(address: AdminAddress, filter: NameFilter): Promise<string> {
  const named = Object.keys(NOUNS).filter((kind): kind is keyof NameFilter => filter[kind as keyof NameFilter] !== undefined);
  const known = named.length === 0 ? undefined : await withoutFailure(() => namesOf(address));
  if (!known) return '';
  return named
    .filter((kind) => known[kind].length > 0 && !known[kind].includes(filter[kind] ?? ''))
    .map((kind) => `the gateway has no ${NOUNS[kind]} '${filter[kind]}'${suggestion(filter[kind] ?? '', known[kind])}\n`)
    .join('');
}

/**
 * One line for each model of an edit that no Pool of the running gateway has: it may be mistyped, or an account that lists it may come later.
 * Empty if no gateway shows its names.
 */
export async function unlistedModels(path: string, models: readonly string[], io: Pick<Io, 'env'>): Promise<string> {
  if (models.length === 0) return '';
  const { model: known = [] } = (await withoutFailure(async () => namesOf(await adminIn(path, io)))) ?? {};
  if (known.length === 0) return '';
  return models
    .filter((model) => !known.includes(model))
    .map((model) => `note: no account of the running gateway lists the model '${model}'${suggestion(model, known)}\n`)
    .join('');
}

async function namesOf(address: AdminAddress): Promise<Readonly<Record<keyof NameFilter, readonly string[]>>> {
  const { config, pools } = await fetchStatus(address);
  return {
    key: textsOf(config, 'keys', 'id'),
    pool: pools.map(({ pool }) => pool),
    account: [...textsOf(config, 'accounts', 'id'), ...textsOf(config, 'accounts', 'label')],
    // Empty until a model list was read.
    model: pools.flatMap(({ models }) => models),
  };
}

/** Undefined if no gateway answers, or it refuses. */
async function withoutFailure<T>(asked: () => Promise<T>): Promise<T | undefined> {
  try {
    return await asked();
  } catch (thrown) {
    if (thrown instanceof CommandFailure) return undefined;
    throw thrown;
  }
}

const textsOf = (config: unknown, list: string, member: string): readonly string[] =>
  rowsOf(config, list).flatMap(({ row: { [member]: value } }) => (typeof value === 'string' ? [value] : []));
