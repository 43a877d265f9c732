// The surfaces of a gateway, and the choice of the surface for a request.
import { KINDS, type RouteKind } from './routes/kinds.ts';
import type { Claim, Surface, Surfaces } from './surface.ts';
import type { Headers } from './turn.ts';

/** The parts of a request that show which surface it belongs to. */
interface Addressed {
  readonly path: string;
  readonly headers: Headers;
  /** Undefined for a request that no row serves. */
  readonly kind: RouteKind | undefined;
}

interface Claimant {
  readonly surface: Surface;
  readonly claim: Claim;
}

export class SurfaceSet {
  readonly #byKind: Surfaces;
  readonly #claimants: readonly Claimant[];

  /** @param more surfaces without a kind, which claim their requests */
  constructor(byKind: Surfaces, more: readonly Surface[] = []) {
    this.#byKind = byKind;
    this.#claimants = [...more, ...Object.values(byKind)].flatMap((surface) => (surface.claim ? { surface, claim: surface.claim } : []));
  }

  /**
   * Returns the surface that claims the request, otherwise the surface of its kind. A request that no row serves gets the compatible one.
   */
  of(request: Addressed): Surface {
    for (const { surface, claim } of this.#claimants) if (isClaimed(request, claim)) return surface;
    const { kind } = request;
    return this.#byKind[(kind && KINDS[kind].surface) ?? 'public'];
  }
}

function isClaimed({ path, headers, kind }: Addressed, claim: Claim): boolean {
  if (path === claim.path || path.startsWith(`${claim.path}/`)) return true;
  if (claim.header === undefined || headers[claim.header] === undefined) return false;
  return (kind === undefined || kind === 'models' || kind === 'model') && path.startsWith('/v1/');
}
