// Finds the code and the param of a refusal that states them in its text alone (RB2, RB7 to RB9, RB19, RB20).
import { isList, isObject, type Json, type JsonObject } from '../json/json.ts';

/** What the text of an error states. */
export interface StatedInText {
  readonly code: string | null;
  readonly param: string | null;
  /** The message without the provider's products and its name of the model. Absent if the text itself can be shown. */
  readonly message?: string;
}

interface Sentence {
  /** The first group is the param, if the sentence has no fixed one. */
  readonly words: RegExp;
  readonly code: string | null;
  readonly param?: string;
  readonly message?: string;
}

const NO_MODEL = 'The requested model is not available.';

/** Each sentence is matched at the beginning of a message, because a message may quote one of them later in its text. */
const SENTENCES: readonly Sentence[] = [
  { words: /^Unsupported parameter: ['"`]?([\w.[\]-]+)/i, code: 'unsupported_parameter' },
  { words: /^['"`]?([\w.[\]-]+)['"`]? is not supported on this model\b/i, code: 'unsupported_parameter' },
  { words: /^Model not found\b/i, code: 'model_not_found', param: 'model', message: NO_MODEL },
  // The second form refuses the version in the account's headers. Another account may state a newer version.
  {
    words: /^The ['"`][^'"`]{1,200}['"`] model (?:is not supported|requires a newer version)\b/i,
    code: 'model_not_supported',
    param: 'model',
    message: NO_MODEL,
  },
  { words: /^(Stream|Store|Input|Instructions) (?:must be|is required|are required)\b/i, code: null },
  { words: /^System messages are not allowed\b/i, code: null, param: 'input' },
];

const NOTHING: StatedInText = { code: null, param: null };

export function statedInText(message: string | null): StatedInText {
  if (message === null) return NOTHING;
  for (const { words, code, param, message: own } of SENTENCES) {
    const found = words.exec(message);
    if (!found) continue;
    const stated = param ?? (code === null ? found[1]?.toLowerCase() : found[1]) ?? null;
    return { code, param: stated, ...(own === undefined ? {} : { message: own }) };
  }
  return statedInPythonList(message);
}

/** Reads a list of validation errors in the form of Python's `repr`: `[{'type': 'missing', 'loc': ('query', 'client_version'), …}]`. */
function statedInPythonList(message: string): StatedInText {
  const [, type, path] = /^\[\{'type': '(\w{1,64})', 'loc': \(([^()]{1,200})\)/.exec(message) ?? [];
  if (type === undefined || path === undefined) return NOTHING;
  return { code: codeOf(type), param: pathOf(path.split(',').map((part) => part.trim().replaceAll("'", ''))) };
}

/** The first entry of a list of validation errors, `[{type, loc, msg}]`, as an error object. */
export function firstOfDetails(details: Json | undefined): JsonObject | undefined {
  const first = isList(details) ? details[0] : undefined;
  if (!isObject(first)) return undefined;
  const { type, loc, msg } = first;
  const parts = isList(loc) ? loc.map(String) : [];
  return { message: msg, code: typeof type === 'string' ? codeOf(type) : null, param: pathOf(parts) };
}

const codeOf = (type: string): string => (type === 'missing' ? 'missing_required_parameter' : 'invalid_value');

/** The parts of a request in which a path can begin. */
const PLACES = new Set(['body', 'query', 'header', 'path', 'cookie']);

function pathOf(parts: readonly string[]): string | null {
  const named = parts.filter((part) => part !== '');
  const path = PLACES.has(named[0] ?? '') ? named.slice(1) : named;
  return path.length > 0 ? path.join('.') : null;
}
