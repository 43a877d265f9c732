// The window that is advertised for a model: the operator's override, the pricing bucket, the percentage (MC4, MC5, Q13).
import type { ModelConfig } from '../turn/settings.ts';
import type { Ceilings } from './ceilings.ts';

/** Tokens, whole; undefined where nobody said. */
export interface AdvertisedWindow {
  /** Raw: the backend's client applies the percent itself, once (MC5). */
  readonly window: number | undefined;
  readonly maximum: number | undefined;
  readonly percent: number;
  readonly compactAt: number | undefined;
  /** What is left of the window after the percent, rounded down: the compatible surface's `context_length` (ML1). */
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

/** The raw window within the model's pricing bucket. A maximum alone is the window, as native clients read it. */
export function bucketWindow({ window, maximum }: Ceilings, config: ModelConfig | undefined): number | undefined {
  const raw = window ?? maximum;
  if (raw === undefined) return undefined;
  if (config?.pricing_bucket === 'long_context') return Math.max(raw, maximum ?? raw);
  return config?.pricing_bucket === 'short_context' ? Math.min(raw, SHORT_CONTEXT) : raw;
}

/** An entry without a limit gets the one that native clients would take; none is above 90 % of the window. */
function compactAt(ceilings: Ceilings, window: number | undefined): number | undefined {
  const highest = share(window, 90);
  return highest === undefined ? ceilings.compactAt : Math.min(ceilings.compactAt ?? highest, highest);
}

/** Multiplied first: 0.95 has no exact double, and 872000 × 0.95 must not depend on that. */
const share = (tokens: number | undefined, percent: number): number | undefined =>
  tokens === undefined ? undefined : Math.floor((tokens * percent) / 100);
