// Names in a filter that the running gateway does not have, so that a mistyped name does not look like one without requests.
import { rowsOf } from '../../config/checks/config-rows.ts';
import { suggestion } from '../../config/schema/suggestion.ts';
import { CommandFailure } from '../command.ts';
import type { AdminAddress } from './address.ts';
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
  const known = named.length === 0 ? undefined : await namesOf(address);
  if (!known) return '';
  return named
    .filter((kind) => known[kind].length > 0 && !known[kind].includes(filter[kind] ?? ''))
    .map((kind) => `the gateway has no ${NOUNS[kind]} '${filter[kind]}'${suggestion(filter[kind] ?? '', known[kind])}\n`)
    .join('');
}

async function namesOf(address: AdminAddress): Promise<Readonly<Record<keyof NameFilter, readonly string[]>> | undefined> {
  try {
    const { config, pools } = await fetchStatus(address);
    return {
      key: textsOf(config, 'keys', 'id'),
      pool: pools.map(({ pool }) => pool),
      account: [...textsOf(config, 'accounts', 'id'), ...textsOf(config, 'accounts', 'label')],
      // Empty until a model list was read.
      model: pools.flatMap(({ models }) => models),
    };
  } catch (thrown) {
    if (thrown instanceof CommandFailure) return undefined;
    throw thrown;
  }
}

const textsOf = (config: unknown, list: string, member: string): readonly string[] =>
  rowsOf(config, list).flatMap(({ row: { [member]: value } }) => (typeof value === 'string' ? [value] : []));
