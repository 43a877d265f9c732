// Decides how a turn continues after an account refused its ciphertext: at the account that made it, or without its reasoning items (Q10).
import { type Refusal, restartRequired } from '../turn/errors/refusal.ts';
import type { Json } from '../turn/json/json.ts';
import type { Body } from '../turn/turn.ts';
import { type Ciphertexts, ciphertextOf, isReasoning } from './issued-values.ts';

export const CIPHERTEXT_REFUSED = 'invalid_encrypted_content';

/**
 * `move`: send the whole turn to that account. `resend`: send this body to the account that refused. `none`: the client gets the provider's
 * error.
 */
export type Recovery =
  | { readonly kind: 'move'; readonly account: string }
  | { readonly kind: 'resend'; readonly body: Body }
  | { readonly kind: 'restart'; readonly refusal: Refusal }
  | { readonly kind: 'none' };

export interface RefusedTurn {
  /** The body as it was sent. */
  readonly body: Body;
  /** The path that the provider named: `input.3.encrypted_content`. */
  readonly param: string | null;
  /** The account that refused. */
  readonly account: string;
  /**
   * Whether the turn cannot move to an account: it was tried, or could not take the turn. True for all accounts if the turn may not move.
   */
  readonly closed: (account: string) => boolean;
  /** Whether the turn was already sent without its reasoning. */
  readonly resent: boolean;
  /** The account of the turn's session. It probably made ciphertext that no pin names. */
  readonly session: string | undefined;
  /** This deployment's word in the header that asks a client to restart. */
  readonly agent: string;
}

export function recoveryOf(refused: RefusedTurn, ciphertexts: Ciphertexts): Recovery {
  const { body, account, closed, resent, session, agent } = refused;
  const input = inputOf(body);
  const named = itemNamed(input, refused.param);
  const bound = input.filter((item) => ciphertextOf(item) !== undefined);
  // The named item first, then items that can never be left out.
  const order = [...(named === undefined ? [] : [named]), ...bound.filter((item) => !isReasoning(item)), ...bound];
  const makers = [...order.map((item) => ciphertexts.makerOf(item)), session];
  const maker = makers.find((one) => one !== undefined && one !== account && !closed(one));
  if (maker !== undefined) return { kind: 'move', account: maker };

  const hasCompaction = bound.some((item) => !isReasoning(item));
  const resendMayHelp = named === undefined || isReasoning(named) || ciphertextOf(named) === undefined;
  const rest = input.filter((item) => !isReasoning(item));
  if (!resent && resendMayHelp && rest.length > 0 && rest.length < input.length) {
    for (const item of bound) if (isReasoning(item) && ciphertexts.makerOf(item) !== account) ciphertexts.refuse(item, account);
    return { kind: 'resend', body: { ...body, input: rest } };
  }
  return hasCompaction ? { kind: 'restart', refusal: restartRequired(agent) } : { kind: 'none' };
}

/**
 * The items whose maker is looked up, by priority: the item that the error names, compaction items, then reasoning items from the newest.
 */
export function itemsToLookUp(body: Body, param: string | null): readonly Json[] {
  const input = inputOf(body);
  const named = itemNamed(input, param);
  const newest = input.filter((item) => ciphertextOf(item) !== undefined).reverse();
  return [...(named === undefined ? [] : [named]), ...newest.filter((item) => !isReasoning(item)), ...newest.filter(isReasoning)];
}

const inputOf = ({ input }: Body): readonly Json[] => (Array.isArray(input) ? input : []);

/** The item that `input.3.encrypted_content` or `input[3]` names. */
function itemNamed(input: readonly Json[], param: string | null): Json | undefined {
  const index = /^input(?:\.|\[)(\d{1,6})\b/.exec(param ?? '')?.[1];
  return index === undefined ? undefined : input[Number(index)];
}
