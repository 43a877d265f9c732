// Refusals that providers state only in text. Clients and gateways read these sentences, so a recording keeps them.

/**
 * A provider's sentence, in which `%` replaces a name. Sources: the specification of the wire formats, openai/codex, and public threads
 * about each sentence.
 */
const SENTENCES: readonly string[] = [
  'Stream must be set to true',
  'Store must be set to false',
  'Input must be a list',
  'Instructions are required',
  'System messages are not allowed',
  'Not Found',
  'Unsupported parameter: %',
  'Unknown parameter: %',
  'Model not found %',
  "The '%' model is not supported when using Codex with a ChatGPT account.",
  "The '%' model requires a newer version of Codex. Please upgrade to the latest app or CLI and try again.",
  "Previous response with id '%' not found.",
  'The usage limit has been reached',
  'Provided authentication token is expired. Please try signing in again.',
  'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
  'The encrypted content % could not be verified.',
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'Our servers are currently overloaded. Please try again later.',
];

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const PATTERNS = SENTENCES.map((sentence) => ({
  pattern: new RegExp(`^${escaped(sentence).replace('%', '([^\\s]{1,200})')}$`),
  sentence,
}));

/** The sentence with its name replaced by `nameOf`; undefined for any other text. */
export function knownSentence(text: string, nameOf: (name: string) => string): string | undefined {
  for (const { pattern, sentence } of PATTERNS) {
    const found = pattern.exec(text);
    if (found) return sentence.replace('%', () => nameOf((found[1] ?? '').replace(/^'|'$/g, '')));
  }
  return undefined;
}
