// Translates the system texts of a Messages request into instructions (AM28, section 5).
import { isAbsent, isList, type Json } from '../../../turn/json/json.ts';
import { blocksOf, malformed, textAt } from './malformed.ts';

/**
 * Whether a text is a pseudo header of some clients. It differs with each session, so in the instructions it would prevent a shared
 * prompt cache.
 */
export const isBilling = (text: string): boolean => text.trimStart().startsWith('x-anthropic-billing-header:');

/** The instructions; undefined if no text is left. */
export function instructionsOf(system: Json | undefined): string | undefined {
  if (isAbsent(system)) return undefined;
  if (typeof system !== 'string' && !isList(system)) throw malformed('system', 'must be a string or an array');
  const texts = blocksOf(system, 'system').map(([block, at]) => {
    if (block.type !== 'text') throw malformed(`${at}.type`, 'must be text');
    return textAt(block.text, `${at}.text`);
  });
  const left = texts.filter((text) => text !== '' && !isBilling(text));
  return left.length > 0 ? left.join('\n\n') : undefined;
}
