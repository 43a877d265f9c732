// One step of a test's report. Members of which nothing is known are null, and texts of an answer are cut (AA87).
import type { AccountTestFailure, AccountTestStep, AccountTestUsage } from '../../admin/replies/account-test-report.ts';
import { isObject, type JsonObject } from '../../turn/json/json.ts';

type Named = Pick<AccountTestStep, 'step' | 'ms'> & Partial<AccountTestStep>;

/** Makes a step that succeeded, unless it gets a failure. */
export const testStep = (named: Named): AccountTestStep => ({
  over: null,
  ok: (named.failure ?? null) === null,
  first_event_ms: null,
  found: null,
  failure: null,
  usage: null,
  adapted: [],
  quirks: [],
  ...named,
});

export const testFailure = (name: string, known: Partial<AccountTestFailure> = {}): AccountTestFailure => ({
  class: name,
  status: null,
  code: null,
  param: null,
  message: null,
  ...known,
});

/** How a turn ended, in a few words; null if no response came. */
export function testedEnd(response: JsonObject | undefined, items: readonly JsonObject[], wantsCall: boolean): string | null {
  if (!response) return null;
  const status = typeof response.status === 'string' ? response.status : 'answered';
  const reason = isObject(response.incomplete_details) ? ` (${String(response.incomplete_details.reason)})` : '';
  const call = wantsCall && !items.some(({ type }) => type === 'function_call') ? ', without a call' : '';
  return `${status}${reason}${call}`;
}

export function testedUsage(response: JsonObject | undefined): AccountTestUsage | null {
  const usage = response?.usage;
  if (!isObject(usage)) return null;
  const count = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  const detail = (name: string, member: string): number | null => {
    const details = usage[name];
    return isObject(details) ? count(details[member]) : null;
  };
  return {
    input_tokens: count(usage.input_tokens),
    cached_input_tokens: detail('input_tokens_details', 'cached_tokens'),
    output_tokens: count(usage.output_tokens),
    reasoning_tokens: detail('output_tokens_details', 'reasoning_tokens'),
    estimated: usage.estimated === true,
  };
}
