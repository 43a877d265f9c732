// The groups of route kinds that rules take part in, derived from the table of kinds.
import { type DispatchedKind, isCompaction, kindsWhere, type RouteKind, surfaceOf } from '../proxy/turn/routes/kinds.ts';

/** Turns of a catalog model whose kind matches. */
const turnsWhere = (matches: (kind: DispatchedKind) => boolean): readonly RouteKind[] =>
  kindsWhere((kind) => kind.served === 'dispatch' && kind.model && matches(kind));

/** Turns of a catalog model: the kinds that the backend's Responses destination serves. */
export const TURNS = turnsWhere(() => true);

/** Turns without compactions, because the contract excludes these from several normalisations. */
export const NON_COMPACT_TURNS = TURNS.filter((name) => !isCompaction(name));

/** Turns of the backend's own clients. */
export const NATIVE_TURNS = turnsWhere(({ surface }) => surface === 'native');

/** Turns of the compatible surface, whatever the shape of their bodies. */
export const COMPATIBLE_TURNS = turnsWhere(({ surface }) => surface !== 'native');

const writesResponses = ({ surface }: DispatchedKind): boolean => surface === 'native' || surface === 'public';

/**
 * Turns whose system messages become instructions. Not Messages, because there the place of such a message is part of the prompt cache
 * (AM29).
 */
export const LIFTED_TURNS = COMPATIBLE_TURNS.filter((name) => surfaceOf(name) !== 'messages');

/** Turns whose client writes a Responses body. */
export const RESPONSES_TURNS = turnsWhere(writesResponses);

/** Compactions, on both surfaces. */
export const COMPACTIONS = TURNS.filter(isCompaction);

export const PUBLIC_COMPACTIONS = COMPACTIONS.filter((name) => surfaceOf(name) === 'public');

const isNativeCompaction = (name: RouteKind): boolean => isCompaction(name) && surfaceOf(name) === 'native';

/** Turns except native compactions, whose lists and schemas go to the provider as their clients wrote them. */
export const NORMALISED_TURNS = TURNS.filter((name) => !isNativeCompaction(name));

export const NORMALISED_RESPONSES = RESPONSES_TURNS.filter((name) => !isNativeCompaction(name));

/** Requests of surfaces with an API of their own, which are translated into Responses requests. */
export const TRANSLATED = kindsWhere((kind) => kind.served === 'dispatch' && !writesResponses(kind));

/** Requests whose model may be an alias: those of Messages clients. */
export const ALIASED = kindsWhere(({ surface }) => surface === 'messages');

export const PUBLIC_RESPONSES = turnsWhere(({ surface }) => surface === 'public');

/** Image requests of native clients, which are passed on unchanged. */
export const NATIVE_IMAGES: readonly RouteKind[] = ['image'];

/** Image requests that are translated into Responses requests. */
export const TRANSLATED_IMAGES: readonly RouteKind[] = ['public-image', 'public-image-edit'];

export const IMAGES: readonly RouteKind[] = [...NATIVE_IMAGES, ...TRANSLATED_IMAGES];

/** Everything that the backend's Responses destination serves. */
export const RESPONSES_WORK: readonly RouteKind[] = [...TURNS, ...TRANSLATED_IMAGES];

export const TRANSCRIPTIONS: readonly RouteKind[] = ['transcribe', 'public-transcription'];
