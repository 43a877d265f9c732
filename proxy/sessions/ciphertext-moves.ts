// Where a turn goes after an account refused its ciphertext: to the maker, or once more without its reasoning (Q10).

import type { Json } from '../turn/json.ts';
import { type Refusal, restartRequired } from '../turn/refusal.ts';
import type { Body } from '../turn/turn.ts';
import { type Ciphertexts, ciphertextOf, isReasoning } from './ciphertext.ts';

export const CIPHERTEXT_REFUSED = 'invalid_encrypted_content';

/** `move`: the whole turn to that account. `resend`: to the one that refused, with this body. `tell`: the provider's word stands. */
export type Recovery =
  | { readonly kind: 'move'; readonly account: string }
  | { readonly kind: 'resend'; readonly body: Body }
  | { readonly kind: 'restart'; readonly refusal: Refusal }
  | { readonly kind: 'tell' };

export interface Refused {
  /** As it was sent. */
  readonly body: Body;
  /** What the provider named: `input.3.encrypted_content`. */
  readonly param: string | null;
  /** The account that refused. */
  readonly account: string;
  /** Accounts that it cannot move to: tried ones, and those that could not take it. All others, where it may not move at all. */
  readonly closed: (account: string) => boolean;
  /** Whether it was sent without its reasoning already. */
  readonly resent: boolean;
  /** The account that its session was at: the likely maker of what nobody remembers. */
  readonly session: string | undefined;
  /** The header that tells a client to start anew. */
  readonly agent: string;
}

export function recoveryOf(refused: Refused, ciphertexts: Ciphertexts): Recovery {
  const { body, account, closed, resent, session, agent } = refused;
  const input: readonly Json[] = Array.isArray(body.input) ? body.input : [];
  const named = itemNamed(input, refused.param);
  const bound = input.filter((item) => ciphertextOf(item) !== undefined);
  // What was named first, then what can never be left out.
  const order = [...(named === undefined ? [] : [named]), ...bound.filter((item) => !isReasoning(item)), ...bound];
  const makers = [...order.map((item) => ciphertexts.makerOf(item)), session];
  const maker = makers.find((one) => one !== undefined && one !== account && !closed(one));
  if (maker !== undefined) return { kind: 'move', account: maker };

  const keeps = bound.some((item) => !isReasoning(item));
  const mayHelp = named === undefined || isReasoning(named) || ciphertextOf(named) === undefined;
  const rest = input.filter((item) => !isReasoning(item));
  if (!resent && mayHelp && rest.length > 0 && rest.length < input.length) {
    for (const item of bound) if (isReasoning(item) && ciphertexts.makerOf(item) !== account) ciphertexts.refuse(item, account);
    return { kind: 'resend', body: { ...body, input: rest } };
  }
  return keeps ? { kind: 'restart', refusal: restartRequired(agent) } : { kind: 'tell' };
}

/** `input.3.encrypted_content`, `input[3]`: the item that it leads to. */
function itemNamed(input: readonly Json[], param: string | null): Json | undefined {
  const index = /^input(?:\.|\[)(\d{1,6})\b/.exec(param ?? '')?.[1];
  return index === undefined ? undefined : input[Number(index)];
}
