// The text of a turn's prompt, which a provider's error might repeat.
import type { Json } from './json/json.ts';
import type { Body } from './turn.ts';

/** Characters; the rest of a longer prompt is not searched. */
const LONGEST_PROMPT = 4_194_304;

/** Every text of the input and instructions, at any depth. */
export function promptOf(body: Body | undefined): string {
  const texts: string[] = [];
  let length = 0;
  const collect = (value: Json | undefined): void => {
    if (length > LONGEST_PROMPT) return;
    if (typeof value === 'string') {
      length += value.length;
      texts.push(value);
    } else if (typeof value === 'object' && value !== null) {
      for (const member of Object.values(value)) collect(member);
    }
  };
  collect(body?.input);
  collect(body?.instructions);
  return texts.join('\n');
}
