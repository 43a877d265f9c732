// The groups of route kinds that rules take part in, derived from the table of kinds.
import { type DispatchedKind, isCompaction, kindsWhere, type RouteKind } from '../proxy/turn/kinds.ts';

/** Turns of a model of the catalog for which `matches` holds. */
const turnsWhere = (matches: (kind: DispatchedKind) => boolean): readonly RouteKind[] =>
  kindsWhere((kind) => kind.served === 'dispatch' && kind.model && matches(kind));

/** Turns of a model of the catalog: what the backend's Responses destination serves. */
export const TURNS = turnsWhere(() => true);

/** Turns without compaction: the contract excludes it from several normalisations. */
export const NON_COMPACT_TURNS = TURNS.filter((name) => !isCompaction(name));

/** Turns of the backend's own clients. */
export const NATIVE_TURNS = turnsWhere(({ surface }) => surface === 'native');

/** Turns of the compatible surface, whatever the shape of their bodies. */
export const COMPATIBLE_TURNS = turnsWhere(({ surface }) => surface !== 'native');

/** Turns with a Responses body of the client's. */
export const RESPONSES_TURNS = turnsWhere(({ surface }) => surface !== 'chat');

export const NON_COMPACT_RESPONSES = RESPONSES_TURNS.filter((name) => !isCompaction(name));

export const PUBLIC_RESPONSES = turnsWhere(({ surface }) => surface === 'public');

export const IMAGES: readonly RouteKind[] = ['image', 'public-image'];

export const TRANSCRIPTIONS: readonly RouteKind[] = ['transcribe', 'public-transcription'];
