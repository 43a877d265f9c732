// The surfaces of a gateway: which of them a request is addressed to.
import type { Kind } from './routes/kinds.ts';
import type { Addressed, Surface, Surfaces } from './surface.ts';

export class SurfaceSet {
  readonly #byKind: Surfaces;
  readonly #claimants: readonly Surface[];

  /** @param more surfaces that no kind names: they claim their requests */
  constructor(byKind: Surfaces, more: readonly Surface[] = []) {
    this.#byKind = byKind;
    this.#claimants = [...more, ...Object.values(byKind)].filter(({ claims }) => claims !== undefined);
  }

  /** The surface that claims the request, else that of its kind; the compatible one for a request that no row serves. */
  of(request: Addressed, kind: Kind | undefined): Surface {
    for (const surface of this.#claimants) if (surface.claims?.(request)) return surface;
    return this.#byKind[kind?.surface ?? 'public'];
  }
}
