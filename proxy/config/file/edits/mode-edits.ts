// The edit that sets a serving mode (Q30).
import type { ServingMode } from '../../../turn/settings.ts';
import { isMapping, mapping, rowsOf } from '../../checks/rows.ts';
import type { Edit } from '../edit.ts';
import type { EditInput } from '../file-replacement.ts';
import { type Pools, requireOwned } from './edited-pools.ts';
import { indexIn } from './invalid-edit.ts';

export interface ModeChoice {
  readonly do: 'mode.set';
  readonly pool: string;
  /** Exposed model id. */
  readonly model: string;
  readonly mode: ServingMode;
}

/** @returns the edits; none if the mode is already set. @throws InvalidEdit */
export function modeEdits({ config, content }: EditInput, { pool, model, mode }: ModeChoice, owned: Pools): readonly Edit[] {
  requireOwned(pool, owned);
  const index = indexIn(config.pools, pool, 'Pool');
  const path = ['pools', index, 'serving_modes', model];
  // `auto` is compiled to no override (PL3), but the file may contain it: so the written value is compared.
  const written = mapping(rowsOf(content, 'pools')[index]?.row.serving_modes);
  const now = isMapping(written) && Object.hasOwn(written, model) ? written[model] : undefined;
  if (mode === 'auto') return now === undefined ? [] : [{ remove: path }];
  return now === mode ? [] : [{ set: path, to: mode }];
}
