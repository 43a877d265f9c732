// Params of the wrong shape: the SDK reports them as an internal error, with its schema's report as the message. The fault is the
// client's, so the error is replaced.
import { isObject } from '../turn/json/json.ts';

const INTERNAL = -32603;
const INVALID_PARAMS = -32602;

/** @param text an answer of the SDK @returns it, or the error -32602 with the names of what is wrong */
export function withInvalidParams(text: string): string {
  // Answers of tools may be large.
  if (text.startsWith('{"result":')) return text;
  const answer = jsonOf(text);
  if (!isObject(answer) || !isObject(answer.error)) return text;
  const { code, message } = answer.error;
  const issues = code === INTERNAL && typeof message === 'string' ? jsonOf(message) : undefined;
  if (!Array.isArray(issues)) return text;
  const names = issues.map((issue) => (isObject(issue) && Array.isArray(issue.path) ? issue.path.join('.') : 'params'));
  return JSON.stringify({ ...answer, error: { code: INVALID_PARAMS, message: `Invalid params: ${[...new Set(names)].join(', ')}` } });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
