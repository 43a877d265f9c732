// The context window that a model list advertises: the operator's override, the pricing bucket, the percentage (MC4, MC5, Q13).
import type { ModelConfig } from '../turn/settings.ts';
import type { Ceilings } from './catalog/ceilings.ts';

/** Windows in whole tokens; undefined if neither the operator nor the provider states a value. */
export interface AdvertisedWindow {
  /** The window before the percentage, which the backend's client applies itself (MC5). */
  readonly window: number | undefined;
  readonly maximum: number | undefined;
  readonly percent: number;
  readonly compactAt: number | undefined;
  /** The window after the percentage, rounded down: `context_length` of the compatible surface (ML1). */
  readonly effective: number | undefined;
}

const SHORT_CONTEXT = 128_000;

export function advertisedWindow(ceilings: Ceilings, config: ModelConfig | undefined): AdvertisedWindow {
  const override = config?.context_window;
  const window = override ?? bucketWindow(ceilings, config);
  const maximum = override ?? ceilings.maximum ?? window;
  const { percent } = ceilings;
  return { window, maximum, percent, compactAt: compactAt(ceilings, window), effective: share(window, percent) };
}

/**
 * The window within the model's pricing bucket, before the percentage. A maximum without a window counts as the window, as in native
 * clients.
 */
export function bucketWindow({ window, maximum }: Ceilings, config: ModelConfig | undefined): number | undefined {
  const raw = window ?? maximum;
  if (raw === undefined) return undefined;
  if (config?.pricing_bucket === 'long_context') return Math.max(raw, maximum ?? raw);
  return config?.pricing_bucket === 'short_context' ? Math.min(raw, SHORT_CONTEXT) : raw;
}

/** The compaction limit: at most 90 % of the window, which is also the default of native clients. */
function compactAt(ceilings: Ceilings, window: number | undefined): number | undefined {
  const highest = share(window, 90);
  return highest === undefined ? ceilings.compactAt : Math.min(ceilings.compactAt ?? highest, highest);
}

/** Multiplies before dividing, because 0.95 is not exact in a double, and 872000 × 0.95 must be exact. */
const share = (tokens: number | undefined, percent: number): number | undefined =>
  tokens === undefined ? undefined : Math.floor((tokens * percent) / 100);
