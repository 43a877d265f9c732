// Reads the API and the preset of a row of `accounts`, from content that may be invalid.
import { PRESETS, type Preset, type PresetName } from '../../../turn/provider/presets.ts';
import type { AccountConfig } from '../../../turn/settings.ts';
import type { Path } from '../../schema/finding.ts';
import { type Mapping, rowsOf, text } from '../config-rows.ts';

export interface AccountRow {
  readonly path: Path;
  readonly row: Mapping;
  readonly api: AccountConfig['api'];
  /** Undefined if the row has no preset, or an unknown one, which the schema reports. */
  readonly preset: (Preset & { readonly name: PresetName }) | undefined;
}

export function accountRows(data: unknown): readonly AccountRow[] {
  return rowsOf(data, 'accounts').map(({ path, row }) => {
    const preset = presetNamed(text(row.preset));
    const api = APIS.find((name) => name === row.api) ?? preset?.apis[0] ?? 'agent';
    return { path, row, api, preset };
  });
}

/** The rows of accounts that speak the Responses API or the Chat API. */
export const apiAccountRows = (data: unknown): readonly AccountRow[] => accountRows(data).filter(({ api }) => api !== 'agent');

/** Whether requests of this account carry a credential. */
export const hasCredential = ({ row }: AccountRow): boolean => row.credential !== undefined && row.credential !== 'none';

const APIS = ['agent', 'responses', 'chat'] as const;

function presetNamed(name: string | undefined): AccountRow['preset'] {
  if (name === undefined || !Object.hasOwn(PRESETS, name)) return undefined;
  return { ...PRESETS[name as PresetName], name: name as PresetName };
}
