// The class of a refusal by an API account. The code decides first, and the status if the code says nothing (AA61).
import { MODEL_CODES, QUOTA_CODES, RATE_CODES } from '../../../turn/errors/error-codes.ts';
import type { ProviderError } from '../../../turn/errors/error-statement.ts';
import type { FailureCause } from '../../../turn/errors/failure.ts';

export interface RefusalClass {
  readonly cause: FailureCause;
  /** The code and the status that clients get, if they differ from the provider's. */
  readonly code?: string;
  readonly status?: number;
  /** Milliseconds to wait, for refusals whose wait is known although none is stated. */
  readonly pauseMs?: number;
  /** What the refusal shows about the account's address or about the encoding. */
  readonly sign?: 'wrong_api' | 'adapted';
}

/** A refusal without its wait. */
export interface StatedRefusal {
  readonly status: number;
  readonly error: ProviderError;
  readonly isJson: boolean;
  /** Whether the error has the results of a moderation. */
  readonly isModerated: boolean;
  /** Whether the refused member was written or changed only by the gateway. */
  readonly blamesEncoding: boolean;
}

const MODELS: ReadonlySet<string> = new Set([
  ...MODEL_CODES,
  'model_decommissioned',
  'DeploymentNotFound',
  'model_permission_blocked_org',
  'model_permission_blocked_project',
]);

/** Codes for billing and balance, in addition to those of agent backends. */
const BILLING: ReadonlySet<string> = new Set([
  ...QUOTA_CODES,
  'billing_not_active',
  'billing_limit_user_error',
  'insufficient_balance',
  'insufficient_credits',
  'credit_limit_exceeded',
  'quota_exceeded',
  'exceeded_current_quota_error',
]);

const CONTEXT: ReadonlySet<string> = new Set(['context_length_exceeded', 'exceed_context_size_error']);

/**
 * Sentences of vLLM, OpenRouter and similar servers, of Mistral, llama.cpp, xAI, LM Studio, Gemini and Anthropic, for a request that exceeds
 * the context window. vLLM has three: for messages, for a prompt, and for a prompt whose images are too large.
 */
const CONTEXT_SENTENCES: readonly RegExp[] = [
  /\bmaximum context length (?:is|of)\b/i,
  /\bmodel's context length is only \d/i,
  /\bis longer than the (?:maximum model|model's context) length\b/i,
  /\bmaximum prompt length is \d/i,
  /\bgreater than the context length\b/i,
  /\bloaded with context length of only \d/i,
  /\bexceeds the maximum number of (?:input )?tokens allowed\b/i,
  /\bprompt is too long\b/i,
  /\btoo large for model with \d+ maximum context length\b/i,
  /\bexceeds? (?:the )?(?:available )?(?:maximum )?context (?:size|length|window)\b/i,
];

/** The model wrote something that the server cannot use. Another attempt may succeed. */
const MISWRITTEN: ReadonlySet<string> = new Set(['tool_use_failed', 'json_validate_failed']);

const FILTERED: ReadonlySet<string> = new Set(['content_filter', 'content_policy_violation']);

/** Statuses which mean that the address does not belong to the API. */
const WRONG_METHOD: ReadonlySet<number> = new Set([405, 415, 501]);

const SERVER: ReadonlySet<number> = new Set([408, 409, 425]);

const LOADING_MS = 5_000;

const matches = (codes: ReadonlySet<string>, { code, type }: ProviderError): boolean => codes.has(code ?? '') || codes.has(type ?? '');

/** The class of the refusal by its code; undefined if only the status counts. */
function byCode({ status, error, isModerated, blamesEncoding }: StatedRefusal): RefusalClass | undefined {
  const isShape = status === 400 || status === 422;
  if (status !== 401 && status < 500) {
    if (matches(BILLING, error)) return { cause: 'quota' };
    if (matches(RATE_CODES, error)) return { cause: 'rate' };
  }
  if ([400, 403, 404].includes(status) && (matches(MODELS, error) || error.param === 'model')) return { cause: 'model' };
  if ((isShape || status === 413) && isContextFull(error)) return { cause: 'request', status: 400, code: 'context_length_exceeded' };
  if (status === 400 && matches(MISWRITTEN, error)) return { cause: 'server' };
  if ((status === 400 || status === 403) && (matches(FILTERED, error) || isModerated))
    return { cause: 'request', status: 400, code: 'content_filter' };
  return isShape && blamesEncoding ? { cause: 'model', sign: 'adapted' } : undefined;
}

/** Whether the error says that the context is full, by its code or in words. */
export const isContextFull = (error: ProviderError): boolean =>
  matches(CONTEXT, error) || CONTEXT_SENTENCES.some((sentence) => sentence.test(error.message ?? ''));

export function refusalClass(refused: StatedRefusal): RefusalClass {
  const { status, error, isJson } = refused;
  if (status < 300 || status > 599) return { cause: 'malformed' };
  const coded = byCode(refused);
  if (coded) return coded;
  if (status === 402) return { cause: 'quota' };
  if (status === 429 || status === 498) return { cause: 'rate', status: 429 };
  if (WRONG_METHOD.has(status)) return { cause: 'server', sign: 'wrong_api' };
  if (status === 404) return { cause: 'model', sign: 'wrong_api' };
  if (status === 503 && /\bloading\b/i.test(error.message ?? '')) return { cause: 'server', pauseMs: LOADING_MS };
  if (status < 400 || status >= 500 || SERVER.has(status)) return { cause: 'server' };
  if (status === 401 || (status === 403 && isJson)) return { cause: 'credential' };
  if (status === 413) return { cause: 'request', code: 'request_too_large' };
  if (!isJson) return { cause: 'server' };
  return status === 400 || status === 422 ? { cause: 'request' } : { cause: 'request', status: 400 };
}
