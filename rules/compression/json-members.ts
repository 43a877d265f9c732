// Finds the top-level members of a JSON object whose values are strings, as ranges of its text, so that the rest of the text stays
// unchanged.
import { isStep, type Steps } from './steps.ts';

/** The range from the opening quote of the value to the position after the closing one. */
export interface ValueRange {
  readonly start: number;
  readonly end: number;
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]/g;

/** @param text a valid JSON object. The last value of a repeated name counts, as in a parser */
export function* stringMembers(text: string): Steps<ReadonlyMap<string, ValueRange>> {
  const members = new Map<string, ValueRange>();
  let depth = 0;
  let name = '';
  let before = '';
  let tokens = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else if (depth === 1 && token.startsWith('"')) {
      if (before === ':') members.set(name, { start: index, end: index + token.length });
      else {
        name = JSON.parse(token) as string;
        members.delete(name);
      }
    }
    before = token;
    if (isStep(tokens++)) yield;
  }
  return members;
}
