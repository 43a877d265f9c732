// The models of an API account. Members that its configuration declares take precedence over those that its list states (AA7, AA8).
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { ApiAccountConfig, DeclaredModel } from '../../turn/provider/api-account.ts';
import { presetOf } from '../../turn/provider/presets.ts';
import { MODALITIES, type Modality } from '../../turn/provider/served.ts';
import type { CatalogEntry } from './catalog-parser.ts';
import { ceilingsOf } from './ceilings.ts';
import { exposedEntries } from './model-names.ts';

/**
 * Entries by exposed id: first those that the account lists, in its order, then those that are only declared. An own id of `catalog` or
 * `models` that the account does not list is served all the same, because some accounts list base models instead of deployments.
 * @param read models as the account's API states them (`ListedModel`)
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
  readonly row: DeclaredModel | undefined;
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

/** The value if it is a number, because an earlier release may have stored something else. */
const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;

function modalitiesOf(value: unknown): readonly Modality[] | undefined {
  return Array.isArray(value) ? MODALITIES.filter((one) => value.includes(one)) : undefined;
}

const usualModalities = ({ preset }: ApiAccountConfig): readonly Modality[] =>
  preset !== undefined && presetOf(preset).images ? ['text', 'image'] : ['text'];

/** The entry of a model. Its fields are those that lists show, whatever else is known of the model. */
function entryOf(own: AccountModel, declared: DeclaredModel | undefined): CatalogEntry {
  const fields = Object.freeze({ id: own.id, ...(own.contextWindow === undefined ? {} : { context_window: own.contextWindow }) });
  const ceilings = ceilingsOf(fields);
  if (!ceilings) throw new RangeError('the window of an API account has not the range of windows');
  return { id: own.id, fields, ceilings, own, declared };
}
