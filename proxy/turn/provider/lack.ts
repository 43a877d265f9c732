// What an account lacks for a turn: such an account is no candidate (AA18).
import type { RouteKind } from '../routes/kinds.ts';
import type { Body } from '../turn.ts';

/** What is known of a turn before an account is chosen. */
export interface AskedTurn {
  readonly kind: RouteKind;
  /** After its rules; undefined if it was not read, as in explanations and for bodies that pass unread. */
  readonly body: Body | undefined;
  /** Whether a transcription has hints for its model, as far as it was read (AA36). */
  readonly hasHints?: boolean;
  /** Whether its key sets its effort (AA45). */
  readonly effortIsFixed?: boolean;
}

/**
 * In the order in which they are checked: the first one that applies counts. `kind`: the API has no such request. `anchor`: nothing there
 * continues a response. `files`: it keeps none. `compaction_item`, `ciphertext`: another account made them. `item`, `tools`, `hosted_tool`,
 * `tool_type`, `tool_choice`, `schema`, `modality`, `effort`: the request has what the account does not take. `window`: the turn is too long.
 * Of accounts of higher tiers: `no_price`: their tier has a cap, and the model no price. `overflow_spent`: the cap has no room. `no_overflow`: the
 * key stays in base tiers.
 */
export const LACKS = [
  'kind',
  'anchor',
  'files',
  'compaction_item',
  'ciphertext',
  'item',
  'tools',
  'hosted_tool',
  'tool_type',
  'tool_choice',
  'schema',
  'modality',
  'effort',
  'window',
  'no_price',
  'overflow_spent',
  'no_overflow',
] as const;

export type LackReason = (typeof LACKS)[number];

export interface Lack {
  readonly reason: LackReason;
  /** The member of the Responses request that excludes the account, as in `tools.2.type`. */
  readonly param?: string;
}
