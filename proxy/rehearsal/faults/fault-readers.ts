// Reads each fault of a fault script from its words.
import type { CompactionFault, Fault, RefuseFault, ReplyPosition, SteerFault } from './fault.ts';
import { syntaxError, type WordReader } from './script-words.ts';

/** By the fault's first word. A reader returns undefined, or throws, on a syntax error. */
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
  binary: (words) => (words.take('frame') ? { kind: 'binary-frame', ...eventNumber(words) } : undefined),
};

/** Whether a close frame can have this code: 1005, 1006 and 1015 are reserved and never sent (RFC 6455, 7.4). */
function isSendableCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
}

function refuse(words: WordReader): RefuseFault | undefined {
  const status = words.requiredNumber();
  if (status < 400 || status > 599) return undefined;
  const code = codeOf(words);
  const retryAfter = words.take('retry') ? words.requiredNumber() : undefined;
  const resetsIn = words.take('resets') ? words.requiredNumber() : undefined;
  return {
    kind: 'refuse',
    status,
    ...(code === undefined ? {} : { code }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
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
  return words.match(/^(?!retry$|resets$|as$|after$)[a-z][a-z0-9_.]*$/);
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
