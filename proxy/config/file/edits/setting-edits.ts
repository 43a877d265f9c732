// The edits of one setting: whether an account is paused, and the serving mode of a model (Q30).
import type { ServingMode } from '../../../turn/settings.ts';
import { isMapping, mapping, rowsOf } from '../../checks/config-rows.ts';
import type { Edit } from '../edit.ts';
import type { EditInput } from '../file-replacement.ts';
import { type Pools, requireOwned } from './edited-pools.ts';
import { indexIn } from './invalid-edit.ts';

export interface AccountPause {
  readonly do: 'account.pause';
  readonly id: string;
  readonly paused: boolean;
}

/** @returns the edits; none if the account is already in that state @throws InvalidEdit */
export function accountPause({ config: { accounts } }: EditInput, { id, paused }: AccountPause): readonly Edit[] {
  const index = indexIn(accounts, id, 'account');
  return accounts[index]?.paused === paused ? [] : [{ set: ['accounts', index, 'paused'], to: paused }];
}

export interface ModeChoice {
  readonly do: 'mode.set';
  readonly pool: string;
  /** The exposed id of the model. */
  readonly model: string;
  readonly mode: ServingMode;
}

/** @returns the edits; none if the mode is already set @throws InvalidEdit */
export function modeEdits({ config, content }: EditInput, { pool, model, mode }: ModeChoice, owned: Pools): readonly Edit[] {
  requireOwned(pool, owned);
  const index = indexIn(config.pools, pool, 'Pool');
  const path = ['pools', index, 'serving_modes', model];
  // The value in the file is compared, because `auto` is compiled to no override (PL3).
  const written = mapping(rowsOf(content, 'pools')[index]?.row.serving_modes);
  const now = isMapping(written) && Object.hasOwn(written, model) ? written[model] : undefined;
  if (mode === 'auto') return now === undefined ? [] : [{ remove: path }];
  return now === mode ? [] : [{ set: path, to: mode }];
}
