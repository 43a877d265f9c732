// The surfaces of a gateway, and the choice of the surface for a request.
import type { Kind } from './routes/kinds.ts';
import type { Addressed, Surface, Surfaces } from './surface.ts';

export class SurfaceSet {
  readonly #byKind: Surfaces;
  readonly #claimants: readonly Surface[];

  /** @param more surfaces without a kind, which claim their requests */
  constructor(byKind: Surfaces, more: readonly Surface[] = []) {
    this.#byKind = byKind;
    this.#claimants = [...more, ...Object.values(byKind)].filter(({ claims }) => claims !== undefined);
  }

  /**
   * Returns the surface that claims the request, otherwise the surface of its kind. A request that no row serves gets the compatible one.
   */
  of(request: Addressed, kind: Kind | undefined): Surface {
    for (const surface of this.#claimants) if (surface.claims?.(request)) return surface;
    return this.#byKind[kind?.surface ?? 'public'];
  }
}
