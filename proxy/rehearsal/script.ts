// The fault script: the little language that causes faults by name, in `metadata.rehearse` of a request and in tests.
//
//   script   clause ; clause ; …           each clause for every account, or for one:  north: refuse 503; south: pace 40
//   clause   fault + fault + …             combined in one reply:                      cr framing + cut after 3 events
//
//   refuse STATUS [CODE] [retry N] [resets N]       an error answer; Retry-After and resets_at, in seconds from now
//   refuse inside [CODE] [as error | as failed] [after N events]        a refusal in a 200
//   cut MOMENT    reset MOMENT                      the connection ends; MOMENT: before headers | after headers | after N events | after N bytes
//   stall MOMENT [for N ms]                         silence, for ever unless a time is given
//   malformed event [N]    empty output    no terminal
//   cr framing    crlf framing    drip [N bytes] [every N ms]    pace N ms
//   steady                                          no fault at all, whatever the account's temperament
import type { Fault, Moment } from './fault.ts';
import { notUnderstood, ScriptError, Words } from './words.ts';

export { ScriptError };

type Reader = (words: Words) => Fault | undefined;

const readers: Readonly<Record<string, Reader>> = {
  refuse: (words) => (words.take('inside') ? refuseInside(words) : refuse(words)),
  cut: (words) => ({ kind: 'cut', at: moment(words), how: 'close' }),
  reset: (words) => ({ kind: 'cut', at: moment(words), how: 'reset' }),
  stall: (words) => {
    const at = moment(words);
    return words.take('for') ? { kind: 'stall', at, ms: milliseconds(words) } : { kind: 'stall', at };
  },
  malformed: (words) => {
    if (!words.take('event')) return undefined;
    const event = words.number();
    return event === undefined ? { kind: 'malformed' } : { kind: 'malformed', event };
  },
  empty: (words) => (words.take('output') ? { kind: 'empty-output' } : undefined),
  no: (words) => (words.take('terminal') ? { kind: 'no-terminal' } : undefined),
  cr: (words) => (words.take('framing') ? { kind: 'framing', newline: 'cr' } : undefined),
  crlf: (words) => (words.take('framing') ? { kind: 'framing', newline: 'crlf' } : undefined),
  drip: (words) => {
    const bytes = words.number();
    if (bytes !== undefined && (bytes === 0 || !(words.take('bytes') || words.take('byte')))) return undefined;
    const pause = words.take('every') ? { ms: milliseconds(words) } : {};
    return { kind: 'drip', bytes: bytes ?? 1, ...pause };
  },
  pace: (words) => ({ kind: 'pace', ms: milliseconds(words) }),
};

function refuse(words: Words): Fault | undefined {
  const status = words.needNumber();
  if (status < 400 || status > 599) return undefined;
  const code = codeOf(words);
  const retryAfter = words.take('retry') ? words.needNumber() : undefined;
  const resetsIn = words.take('resets') ? words.needNumber() : undefined;
  return {
    kind: 'refuse',
    status,
    ...(code === undefined ? {} : { code }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(resetsIn === undefined ? {} : { resetsIn }),
  };
}

function refuseInside(words: Words): Fault {
  const code = codeOf(words);
  const as = words.take('as error') ? 'error' : 'response.failed';
  words.take('as failed');
  const after = words.take('after') ? eventCount(words) : undefined;
  return { kind: 'refuse-inside', as, ...(code === undefined ? {} : { code }), ...(after === undefined ? {} : { after }) };
}

function codeOf(words: Words): string | undefined {
  return words.match(/^(?!retry$|resets$|as$|after$)[a-z][a-z0-9_.]*$/);
}

function eventCount(words: Words): number {
  const events = words.needNumber();
  return words.take('events') || words.take('event') ? events : notUnderstood();
}

function milliseconds(words: Words): number {
  const ms = words.needNumber();
  words.take('ms');
  return ms;
}

function moment(words: Words): Moment {
  if (words.take('before headers')) return 'before-headers';
  if (words.take('after headers')) return 'after-headers';
  if (!words.take('after')) return notUnderstood();
  const count = words.needNumber();
  if (words.take('events') || words.take('event')) return { events: count };
  return words.take('bytes') || words.take('byte') ? { bytes: count } : notUnderstood();
}

function readFault(text: string): Fault | undefined {
  const words = new Words(text);
  const name = words.match(/^[a-z]+$/i)?.toLowerCase();
  if (name === 'steady' && words.done) return undefined;
  const fault = name === undefined ? undefined : readers[name]?.(words);
  return fault !== undefined && words.done ? fault : notUnderstood();
}

/**
 * The faults that a script has for one account: those of the clauses that name it, or else of the clauses that name none.
 * Undefined where the script says nothing of it; an empty list where it says `steady`.
 * @throws ScriptError when any clause, of whichever account, is not understood
 */
export function readScript(script: string, account: string): readonly Fault[] | undefined {
  let own: Fault[] | undefined;
  let general: Fault[] | undefined;
  for (const clause of script.split(';')) {
    if (clause.trim() === '') continue;
    const [, name, text = ''] = /^\s*(?:([\w.-]+)\s*:)?(.*)$/s.exec(clause) ?? [];
    const faults = clauseFaults(text);
    if (name === undefined) general = [...(general ?? []), ...faults];
    else if (name === account) own = [...(own ?? []), ...faults];
  }
  return own ?? general;
}

function clauseFaults(text: string): readonly Fault[] {
  try {
    return text
      .split('+')
      .map(readFault)
      .filter((fault) => fault !== undefined);
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    throw new ScriptError(`The rehearsal script was not understood at "${text.trim().slice(0, 80)}".`);
  }
}
