// The placeholder of a value in a recording states its kind and length, such as `<text:21299>`. A replay makes a value from it.

/**
 * | placeholder | value |
 * | --- | --- |
 * | `<text:N>` `<json:N>` `<base64:N>` `<url:N>` | a string of N characters; `json`: the text of a JSON object |
 * | `<data:TYPE:N>` | a data URL of a media type |
 * | `<id:PREFIX:I:N>` | the Ith different value of this prefix in the recording: equal values are equal again |
 * | `<name:I:N>` | the Ith different name of a tool or namespace, of N characters |
 * | `<model:I>` | the Ith different model with a name that is not public |
 * | `<time:S>` | Unix seconds, relative to the exchange |
 * | `<number>` `<boolean>` | a number, a boolean |
 */
const PLACEHOLDER = /<(text|json|base64|url|data|id|name|model|time|number|boolean)(?::([^<>]*))?>/g;
const WHOLE = /^<(number|boolean|time:-?\d+)>$/;

export interface Expansion {
  /** Unix seconds at which the exchange is replayed. */
  readonly now: number;
}

/** The value that a replay uses for a string of a recording. */
export function expanded(text: string, { now }: Expansion): string | number | boolean {
  const whole = WHOLE.exec(text)?.[1];
  if (whole === 'number') return 0;
  if (whole === 'boolean') return false;
  if (whole?.startsWith('time:')) return now + Number(whole.slice('time:'.length));
  return text.replace(PLACEHOLDER, (_, kind: string, rest = '') => replacementOf(kind, rest.split(':'), now));
}

function replacementOf(kind: string, parts: readonly string[], now: number): string {
  const length = Number(parts.at(-1));
  switch (kind) {
    case 'text':
      return filled(TEXT, length);
    case 'json':
      return length < 8 ? `{${' '.repeat(Math.max(0, length - 2))}}` : `{"a":"${filled('a', length - 8)}"}`;
    case 'base64':
      return `${'A'.repeat(length)}`;
    case 'url':
      return `https://example.invalid/${'a'.repeat(Math.max(0, length - 24))}`;
    case 'data':
      return `data:${parts[0]};base64,${filled('AAAA', Math.max(0, length - `data:${parts[0]};base64,`.length))}`;
    case 'id':
      return idOf(parts[0] ?? '', parts[1] ?? '', length);
    case 'name':
      return `${'n'.repeat(Math.max(1, length - (parts[0]?.length ?? 0)))}${parts[0]}`;
    case 'model':
      return `model-${parts[0]}`;
    case 'time':
      return String(now + length);
    default:
      return '0';
  }
}

const TEXT = 'lorem ipsum dolor sit amet, ';

/** A text of this length. It ends in a letter, because white space at its end might be trimmed. */
const filled = (pattern: string, length: number): string =>
  length === 0 ? '' : `${pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length - 1)}a`;

function idOf(prefix: string, index: string, length: number): string {
  if (prefix === 'uuid') return `00000000-0000-7000-8000-${index.padStart(12, '0')}`;
  const head = prefix === '' ? '' : `${prefix}_`;
  return head + index.padStart(Math.max(0, length - head.length), '0');
}
