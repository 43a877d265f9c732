// What a simulated account of another API is: the API, the quirks that its address names, and what it serves (AA88, AA90).
import type { PresetName } from '../../turn/provider/presets.ts';
import type { Quirks } from '../../turn/provider/quirks.ts';
import type { ApiCompaction, HostedTool, Served } from '../../turn/provider/served.ts';

export interface ApiSettings {
  readonly api: 'responses' | 'chat';
  /** It refuses what these deny, and answers in their form. Of all others it takes what the documented API has. */
  readonly quirks: Partial<Quirks>;
  /** The server in whose form it lists its models. */
  readonly list: PresetName | undefined;
  readonly serves: readonly Served[];
  readonly hostedTools: readonly HostedTool[];
  readonly websocket: boolean;
  /** `route`: it has the compact path. `trigger`: it takes turns that end in a trigger. */
  readonly compact: ApiCompaction;
}

/** The settings of a simulated account; what is left out is that of an account without a preset. */
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
