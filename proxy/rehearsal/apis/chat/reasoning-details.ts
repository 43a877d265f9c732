// The `reasoning_details` of a simulated account. Each has a signature of the account and its text, so that changes are detected (AA14).
import { createHash } from 'node:crypto';
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { SimulatedAccount } from '../../account/simulated-account.ts';

export const detailOf = (text: string, account: SimulatedAccount): JsonObject => ({
  type: 'reasoning.text',
  text,
  signature: signatureOf(text, account),
  format: 'unknown',
  index: 0,
});

export const isOwnDetail = (detail: Json, account: SimulatedAccount): boolean =>
  isObject(detail) && typeof detail.text === 'string' && detail.signature === signatureOf(detail.text, account);

/** The opaque member of a call, which some servers require in the next request. */
export const opaqueOf = (account: SimulatedAccount): JsonObject => ({ provider: { thought_signature: signatureOf('call', account) } });

export const isOwnOpaque = ({ provider }: JsonObject, account: SimulatedAccount): boolean =>
  isObject(provider) && provider.thought_signature === signatureOf('call', account);

const signatureOf = (text: string, account: SimulatedAccount): string =>
  account.bind('sig', createHash('sha256').update(text).digest('hex').slice(0, 16));
