// Checks the grammar of a custom tool, in the flat form and in Chat's form (F5.2, F5.5).
import { isText, type JsonObject } from './json.ts';

/** The path below the grammar at which it is wrong; undefined if it is valid. */
export function grammarFault({ syntax, definition }: JsonObject): '.syntax' | '.definition' | undefined {
  if (syntax !== 'lark' && syntax !== 'regex') return '.syntax';
  return isText(definition) ? undefined : '.definition';
}
