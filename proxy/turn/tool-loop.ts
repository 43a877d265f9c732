// Whether a turn continues a tool loop. Its input then ends in outputs of tools, and the account that called them should continue (AA68).
import { isObject } from './json/json.ts';
import type { Body } from './turn.ts';

export function endsInToolOutputs({ input }: Body): boolean {
  const last = Array.isArray(input) ? input.at(-1) : undefined;
  return isObject(last) && typeof last.type === 'string' && last.type.endsWith('_output');
}
