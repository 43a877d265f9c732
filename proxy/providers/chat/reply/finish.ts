// The meaning of each finish reason for the end of the response (AA54).

/** `unknown`: completed after output, and a server failure before it. */
export type Finish =
  | { readonly kind: 'completed' | 'failed' | 'unknown' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' };

const CAPPED: Finish = { kind: 'incomplete', reason: 'max_output_tokens' };
const FILTERED: Finish = { kind: 'incomplete', reason: 'content_filter' };

const FINISHES: ReadonlyMap<string, Finish> = new Map<string, Finish>([
  ['stop', { kind: 'completed' }],
  ['tool_calls', { kind: 'completed' }],
  ['function_call', { kind: 'completed' }],
  ['eos', { kind: 'completed' }],
  ['length', CAPPED],
  ['max_tokens', CAPPED],
  ['model_length', CAPPED],
  ['content_filter', FILTERED],
  ['safety', FILTERED],
  ['error', { kind: 'failed' }],
  ['insufficient_system_resource', { kind: 'failed' }],
  ['abort', { kind: 'failed' }],
  ['network_error', { kind: 'failed' }],
  ['cancelled', { kind: 'failed' }],
]);

export const finishOf = (reason: string): Finish => FINISHES.get(reason) ?? { kind: 'unknown' };
