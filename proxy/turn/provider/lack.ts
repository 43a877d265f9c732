// What an account lacks for a turn. An account that lacks something is not a candidate (AA18).
import type { RouteKind } from '../routes/kinds.ts';
import type { Body } from '../turn.ts';

/** What is known of a turn before an account is chosen. */
export interface AskedTurn {
  readonly kind: RouteKind;
  /** The body after the rules. Undefined if it was not read, as in explanations and for bodies that pass unread. */
  readonly body: Body | undefined;
  /** Whether a transcription has hints for its model. Only the part of the form before the file has been read (AA36). */
  readonly hasHints?: boolean;
  /** Whether the key sets the effort (AA45). */
  readonly effortIsFixed?: boolean;
}

/**
 * In the order in which they are checked: the first one that applies counts. `kind`: the API has no such request. `anchor`: the account
 * cannot continue the response. `files`: the account keeps no files. `compaction_item`, `ciphertext`: another account made them. `item`,
 * `tools`, `hosted_tool`, `tool_type`, `tool_choice`, `schema`, `modality`, `effort`: the account does not take this part of the request.
 * `window`: the turn is too long. The last three concern accounts of higher tiers. `no_price`: the tier has a cap, and the model has no
 * price. `overflow_spent`: the cost does not fit into the cap. `no_overflow`: the key stays in base tiers.
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
