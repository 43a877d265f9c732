// The settings of a simulated account of another API: the API, the quirks that its address names, and what it serves (AA88, AA90).
import type { PresetName } from '../../turn/provider/presets.ts';
import type { Quirks } from '../../turn/provider/quirks.ts';
import type { ApiCompaction, HostedTool, Served } from '../../turn/provider/served.ts';

export interface ApiSettings {
  readonly api: 'responses' | 'chat';
  /**
   * The account refuses requests that ignore these quirks, and answers in their form. For other quirks it behaves as the documented API.
   */
  readonly quirks: Partial<Quirks>;
  /** The kind of server whose form the list of models has. */
  readonly list: PresetName | undefined;
  readonly serves: readonly Served[];
  readonly hostedTools: readonly HostedTool[];
  readonly websocket: boolean;
  /** `route`: the account has the compact path. `trigger`: it takes turns that end in a trigger. */
  readonly compact: ApiCompaction;
}

/** The settings of a simulated account. Settings that are left out are those of an account without a preset. */
export type NamedApi = Pick<ApiSettings, 'api'> & Partial<ApiSettings>;

export function apiSettings(named: NamedApi): ApiSettings {
  return {
    quirks: {},
    list: undefined,
    serves: ['turns', 'compact'],
    hostedTools: [],
    websocket: false,
    compact: 'summary',
    ...named,
  };
}
