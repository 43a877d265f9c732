// The models of an API account: what its rows declare wins member by member over what its list states (AA7, AA8).
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { ApiAccountConfig, CatalogRow } from '../../turn/provider/api-account.ts';
import { presetOf } from '../../turn/provider/presets.ts';
import { MODALITIES, type Modality } from '../../turn/provider/served.ts';
import type { CatalogEntry } from './catalog-parser.ts';
import { ceilingsOf } from './ceilings.ts';
import { exposedEntries } from './model-names.ts';

/**
 * By exposed id: what the account lists in its order, then what is declared besides. An own id of `catalog` or `models` that the account
 * does not list is served all the same: some list base models, not deployments.
 * @param read as the account's API states its models (`ListedModel`)
 */
export function apiEntries(account: ApiAccountConfig, read: readonly CatalogEntry[]): ReadonlyMap<string, CatalogEntry> {
  const rows = new Map(account.catalog.map((row) => [row.id, row]));
  const declared = new Set([...rows.keys(), ...Object.values(account.models)]);
  const listed = new Map(read.filter(({ id }) => account.read_models === 'all' || declared.has(id)).map((entry) => [entry.id, entry]));
  const ids = new Set([...listed.keys(), ...declared]);
  const entries = [...ids].map((id) => entryOf(modelOf(account, id, { row: rows.get(id), listed: listed.get(id) }), rows.get(id)));
  return exposedEntries(entries, account.models);
}

interface Known {
  readonly row: CatalogRow | undefined;
  readonly listed: CatalogEntry | undefined;
}

function modelOf(account: ApiAccountConfig, id: string, { row, listed }: Known): AccountModel {
  const { context_window, max_output, input_modalities, tools, kind } = listed?.fields ?? {};
  return {
    id,
    contextWindow: row?.context_window ?? numberOf(context_window),
    maxOutput: row?.max_output ?? numberOf(max_output),
    reasoningLevels: row?.reasoning_levels,
    defaultLevel: row?.default_level,
    modalities: row?.input_modalities ?? modalitiesOf(input_modalities) ?? usualModalities(account),
    tools: row?.tools ?? (typeof tools === 'boolean' ? tools : true),
    kind: row?.kind ?? (kind === 'embedding' ? kind : 'turns'),
    prices: row?.prices,
  };
}

/** What was stored may have been read by an earlier release. */
const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;

function modalitiesOf(value: unknown): readonly Modality[] | undefined {
  return Array.isArray(value) ? MODALITIES.filter((one) => value.includes(one)) : undefined;
}

const usualModalities = ({ preset }: ApiAccountConfig): readonly Modality[] =>
  preset !== undefined && presetOf(preset).images ? ['text', 'image'] : ['text'];

/** Its fields are those that lists show whatever else is known of it. */
function entryOf(own: AccountModel, declared: CatalogRow | undefined): CatalogEntry {
  const fields = Object.freeze({ id: own.id, ...(own.contextWindow === undefined ? {} : { context_window: own.contextWindow }) });
  const ceilings = ceilingsOf(fields);
  if (!ceilings) throw new RangeError('the window of an API account has not the range of windows');
  return { id: own.id, fields, ceilings, own, declared };
}
