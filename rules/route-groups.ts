// The groups of route kinds that rules take part in.
import type { RouteKind } from '../proxy/turn/kinds.ts';

/** Turns of a model of the catalog: what the backend's Responses destination serves. */
export const TURNS: readonly RouteKind[] = ['responses', 'compact', 'public-responses', 'chat'];

/** Turns that compaction is no part of: the contract excludes it from several normalisations. */
export const NON_COMPACT_TURNS: readonly RouteKind[] = ['responses', 'public-responses', 'chat'];

/** Turns of the backend's own clients. */
export const NATIVE_TURNS: readonly RouteKind[] = ['responses', 'compact'];

/** Turns of the compatible surface, whatever the shape of their bodies. */
export const COMPATIBLE_TURNS: readonly RouteKind[] = ['public-responses', 'chat'];

/** Turns whose client writes a Responses body. */
export const RESPONSES_TURNS: readonly RouteKind[] = ['responses', 'compact', 'public-responses'];

export const NON_COMPACT_RESPONSES: readonly RouteKind[] = ['responses', 'public-responses'];

export const PUBLIC_RESPONSES: readonly RouteKind[] = ['public-responses'];

export const IMAGES: readonly RouteKind[] = ['image', 'public-image'];
