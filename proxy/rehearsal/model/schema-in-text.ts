// Finds the JSON Schema that the system text of a turn asks the answer to follow.
import { isObject, type JsonObject, parsedJson } from '../../turn/json/json.ts';

/** The last JSON object in the system text, which a model would follow as a schema. */
export function schemaIn(text: string): JsonObject | undefined {
  let last: JsonObject | undefined;
  for (let from = text.indexOf('{'); from >= 0; ) {
    const to = endOfObject(text, from);
    const found = parsedJson(text.slice(from, to));
    if (isObject(found)) last = found;
    from = text.indexOf('{', isObject(found) ? to : from + 1);
  }
  return last;
}

/** The index after the brace that closes the one at `from`. Braces in strings do not count. */
function endOfObject(text: string, from: number): number {
  let depth = 0;
  for (const { 0: token, index } of text.slice(from).matchAll(/"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') depth += 1;
    else if (token === '}') depth -= 1;
    if (depth === 0) return from + index + 1;
  }
  return text.length;
}
