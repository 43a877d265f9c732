// The parameters of images on /v1 that the image tool takes too (Q22).
import { isAbsent } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** Texts that are passed to the tool. The provider checks their values. */
export const TOOL_TEXTS = ['size', 'quality', 'background', 'input_fidelity', 'output_format', 'moderation'] as const;

/** `output_compression` as a number; undefined if it is absent. */
export function compressionOf({ output_compression: value }: Body): number | undefined | 'malformed' {
  if (isAbsent(value)) return undefined;
  const percent = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : value;
  return typeof percent === 'number' && Number.isInteger(percent) && percent >= 0 && percent <= 100 ? percent : 'malformed';
}
