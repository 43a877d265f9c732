// What the two forms of custom tools have in common: their grammars, and how a member that they may not have is named (F5.2, F5.5).

import type { JsonObject } from '../../proxy/turn/json.ts';
import { isText } from '../../proxy/turn/json.ts';

/** The path below the grammar at which it is wrong; undefined where it is right. */
export function grammarFault({ syntax, definition }: JsonObject): '.syntax' | '.definition' | undefined {
  if (syntax !== 'lark' && syntax !== 'regex') return '.syntax';
  return isText(definition) ? undefined : '.definition';
}

/** An unknown key is named where it looks like a field's name, as in the public API; any other text of a client is not repeated. */
export const unknownMember = (member: string): string => (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(member) ? `.${member}` : '');
