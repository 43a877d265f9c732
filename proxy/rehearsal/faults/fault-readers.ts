// Reads each fault of a fault script from its words.
import type { CompactionFault, ErrorChunkFault, Fault, RateFault, RefuseFault, ReplyPosition, SteerFault } from './fault.ts';
import { REASONING_SPELLINGS, REPLY_FORMS, type ReplyForm, STREAM_FORMS, type StreamForm } from './reply-forms.ts';
import { syntaxError, type WordReader } from './script-words.ts';

/** Reads the name of a form, which may have several words. Undefined if none comes next. */
export function readFaultForm(words: WordReader): Fault | undefined {
  for (const is of Object.keys(REPLY_FORMS) as readonly ReplyForm[]) if (words.take(is)) return { kind: 'form', is };
  for (const is of Object.keys(STREAM_FORMS) as readonly StreamForm[]) if (words.take(is)) return { kind: 'stream', is };
  return undefined;
}

/** The readers by the fault's first word. A reader returns undefined, or throws, for a syntax error. */
export const FAULT_READERS: Readonly<Record<string, (words: WordReader) => Fault | undefined>> = {
  refuse: (words) => {
    if (words.take('inside')) return refuseInside(words);
    if (!words.take('upgrade')) return refuse(words);
    const refusal = refuse(words);
    return refusal && { ...refusal, kind: 'refuse-upgrade' };
  },
  cut: (words) => ({ kind: 'cut', at: position(words), how: 'close' }),
  reset: (words) => (words.take('upgrade') ? { kind: 'reset-upgrade' } : { kind: 'cut', at: position(words), how: 'reset' }),
  stall: (words) => {
    if (words.take('upgrade')) return { kind: 'stall-upgrade', ...(words.take('for') ? { ms: milliseconds(words) } : {}) };
    const at = position(words);
    return words.take('for') ? { kind: 'stall', at, ms: milliseconds(words) } : { kind: 'stall', at };
  },
  malformed: (words) => {
    if (!words.take('event')) return undefined;
    return { kind: 'malformed', ...eventNumber(words), ...(words.take('as array') ? { as: 'array' } : {}) };
  },
  empty: (words) => (words.take('output') ? { kind: 'empty-output' } : undefined),
  compaction: (words) => {
    const is = words.match(/^(?:missing|twice|blank|unsealed)$/) as CompactionFault['is'] | undefined;
    return is === undefined ? undefined : { kind: 'compaction', is };
  },
  no: (words) => {
    if (words.take('terminal')) return { kind: 'no-terminal' };
    return words.take('preamble') ? { kind: 'no-preamble' } : undefined;
  },
  cr: (words) => (words.take('framing') ? { kind: 'framing', newline: 'cr' } : undefined),
  crlf: (words) => (words.take('framing') ? { kind: 'framing', newline: 'crlf' } : undefined),
  drip: (words) => {
    const bytes = words.number();
    if (bytes !== undefined && (bytes === 0 || !(words.take('bytes') || words.take('byte')))) return undefined;
    const pause = words.take('every') ? { ms: milliseconds(words) } : {};
    return { kind: 'drip', bytes: bytes ?? 1, ...pause };
  },
  pace: (words) => ({ kind: 'pace', ms: milliseconds(words) }),
  close: (words) => {
    const code = words.requiredNumber();
    return isSendableCode(code) ? { kind: 'close', code, ...afterEvents(words) } : undefined;
  },
  half: (words) => (words.take('open') ? { kind: 'half-open', ...afterEvents(words) } : undefined),
  connection: (words) => {
    if (!words.take('limit')) return undefined;
    return words.take('after turn') ? { kind: 'limit-between-turns' } : { kind: 'connection-limit' };
  },
  interrupt: (words) => {
    if (words.take('ignored')) return { kind: 'interrupt', is: 'ignored' };
    return words.take('failed') ? { kind: 'interrupt', is: 'failed', ...optionalCode(words) } : undefined;
  },
  steer: (words) => {
    const is = words.match(/^(?:failed|returned|pending|waits)$/) as SteerFault['is'] | undefined;
    return is === undefined ? undefined : { kind: 'steer', is, ...optionalCode(words) };
  },
  status: (words) => (words.take('code') ? { kind: 'status-code' } : undefined),
  anchor: (words) => (words.take('lost') ? { kind: 'anchor-lost' } : undefined),
  frame: (words) => (words.take('too large') ? { kind: 'frame-too-large' } : undefined),
  error: (words) => {
    if (!words.take('chunk')) return undefined;
    const code = words.number() ?? codeOf(words);
    const as = words.take('as') ? (words.match(/^(?:object|event|choice)$/i)?.toLowerCase() as ErrorChunkFault['as']) : 'chunk';
    return as && { kind: 'error-chunk', as, ...(code === undefined ? {} : { code }), ...afterEvents(words) };
  },
  html: (words) => ({ kind: 'html', status: words.number() ?? 200 }),
  loading: () => ({ kind: 'loading' }),
  finish: (words) => {
    const reason = words.match(/^\w+$/);
    return reason === undefined ? undefined : { kind: 'finish', reason };
  },
  reasoning: (words) => {
    const as = words.take('as') ? words.match(/^\w+$/) : undefined;
    const known = REASONING_SPELLINGS.find((spelling) => spelling === as);
    return known && { kind: 'reasoning', as: known };
  },
  rate: (words) => {
    const of = words.match(/^(?:requests|tokens)$/) as RateFault['of'] | undefined;
    const remaining = signed(words);
    if (of === undefined || !words.take('of')) return undefined;
    const limit = signed(words);
    const reset = words.take('reset') ? words.match(/^[\w.]+$/) : undefined;
    return { kind: 'rate', of, remaining, limit, ...(reset === undefined ? {} : { reset }) };
  },
  slow: (words) => {
    if (!words.take('first byte')) return undefined;
    const ms = milliseconds(words);
    return { kind: 'slow-first-byte', ms, comments: words.take('with comments') };
  },
  without: (words) => {
    const type = words.match(/^response\.[a-z_.]+$/);
    return type === undefined ? undefined : { kind: 'without', type };
  },
  binary: (words) => (words.take('frame') ? { kind: 'binary-frame', ...eventNumber(words) } : undefined),
};

/** Whether a close frame can have this code. 1005, 1006 and 1015 are reserved and never sent (RFC 6455, 7.4). */
function isSendableCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
}

function refuse(words: WordReader): RefuseFault | undefined {
  const status = words.requiredNumber();
  if (status < 400 || status > 599) return undefined;
  const code = codeOf(words);
  const retryAfterMs = words.take('retry ms') ? words.requiredNumber() : undefined;
  const retryAfter = words.take('retry') ? words.requiredNumber() : undefined;
  const resetsIn = words.take('resets') ? words.requiredNumber() : undefined;
  return {
    kind: 'refuse',
    status,
    ...(code === undefined ? {} : { code }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(resetsIn === undefined ? {} : { resetsIn }),
  };
}

function refuseInside(words: WordReader): Fault {
  const code = codeOf(words);
  const as = words.take('as error') ? 'error' : 'response.failed';
  words.take('as failed');
  return { kind: 'refuse-inside', as, ...(code === undefined ? {} : { code }), ...afterEvents(words) };
}

function codeOf(words: WordReader): string | undefined {
  return words.match(/^(?!(?:retry|resets|as|after)$)[a-z][a-z0-9_.]*$/i);
}

function optionalCode(words: WordReader): { readonly code?: string } {
  const code = codeOf(words);
  return code === undefined ? {} : { code };
}

function afterEvents(words: WordReader): { readonly after?: number } {
  if (!words.take('after')) return {};
  const after = words.requiredNumber();
  return words.take('events') || words.take('event') ? { after } : syntaxError();
}

function eventNumber(words: WordReader): { readonly event?: number } {
  const event = words.number();
  return event === undefined ? {} : { event };
}

/** Reads a number that may be negative, because some servers state a remainder below zero. */
function signed(words: WordReader): number {
  return Number(words.match(/^-?\d{1,9}$/) ?? syntaxError());
}

function milliseconds(words: WordReader): number {
  const ms = words.requiredNumber();
  words.take('ms');
  return ms;
}

function position(words: WordReader): ReplyPosition {
  if (words.take('before headers')) return 'before-headers';
  if (words.take('after headers')) return 'after-headers';
  if (!words.take('after')) return syntaxError();
  const count = words.requiredNumber();
  if (words.take('events') || words.take('event')) return { events: count };
  return words.take('bytes') || words.take('byte') ? { bytes: count } : syntaxError();
}
