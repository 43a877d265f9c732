// The fault script: the language that names faults in `metadata.rehearse` of a request, in a line `rehearse: SCRIPT` of its last
// message (fault-injection.ts), and in tests.
//
//   script   clause ; clause ; …           each clause for every account, or for one:  north: refuse 503; south: pace 40
//   clause   fault + fault + …             combined in one reply:                      cr framing + cut after 3 events
//
//   refuse STATUS [CODE] [retry N | retry ms N] [resets N]     an error answer; Retry-After and resets_at, in seconds from now
//   refuse inside [CODE] [as error | as failed] [after N events]        a refusal in a 200
//   cut POSITION    reset POSITION                  ends the connection; POSITION: before headers | after headers | after N events | after N bytes
//   stall POSITION [for N ms]                       pauses the reply; without a time, until the client leaves
//   malformed event [N] [as array]    empty output    no terminal
//   compaction missing | twice | blank | unsealed   breaks the item of a compaction; unsealed: without encrypted_content
//   cr framing    crlf framing    drip [N bytes] [every N ms]    pace N ms
//   steady                                          no fault, even if the account's profile has one
//
// Positions do not count keepalives.
//
// Websockets. A `response.create` frame is a turn and accepts the faults above: a refusal is an `error` frame, every frame counts as an
// event, and both positions at the headers are before the first frame. `cr framing` and `crlf framing` have no effect there; `drip` splits
// frames.
//   close CODE [after N events]    half open [after N events]           instead of an answer by default
//   connection limit [after turn]    anchor lost    frame too large
//   binary frame [N]    no preamble    status code             error frames have `status_code` instead of `status`
//   interrupt failed [CODE] | ignored                               answers an interrupt of the turn
//   steer failed [CODE] | returned [CODE] | pending | waits         answers a steer, which ends the response after an item unless it waits
//
// Accounts of the other APIs (AA89). Every form of `reply-forms.ts` is also a fault: `no done`, `one index + no usage`, `comments`.
//   error chunk [STATUS | CODE] [as object | as event | as choice] [after N events]       an error in a 200
//   html [STATUS]    loading    slow first byte N ms [with comments]
//   finish WORD    reasoning as reasoning_content | reasoning | thinking | details | parts | tags
//   rate requests | tokens N of LIMIT [reset TEXT]              headers of rate limits
//   without response.TYPE                                        leaves out the events of a type
//
// Only these apply to the upgrade:
//   refuse upgrade STATUS [CODE] [retry N] [resets N]    stall upgrade [for N ms]    reset upgrade
import type { Fault } from './fault.ts';
import { FAULT_READERS, readFaultForm } from './fault-readers.ts';
import { ScriptError, syntaxError, WordReader } from './script-words.ts';

/**
 * The faults that a script has for one account: those of the clauses that name it, or else of the clauses that name none.
 * Undefined if the script has no clause for it; an empty list for `steady`.
 * @throws ScriptError when a clause of any account breaks the grammar
 */
export function readScript(script: string, account: string): readonly Fault[] | undefined {
  let own: Fault[] | undefined;
  let general: Fault[] | undefined;
  for (const [i, clause] of script.split(';').entries()) {
    if (clause.trim() === '') continue;
    const [, name, text = ''] = /^\s*(?:([\w.-]+)\s*:)?(.*)$/s.exec(clause) ?? [];
    const faults = text
      .split('+')
      .map((fault) => readFault(fault, i + 1))
      .filter((fault) => fault !== undefined);
    if (name === undefined) general = [...(general ?? []), ...faults];
    else if (name === account) own = [...(own ?? []), ...faults];
  }
  return own ?? general;
}

function readFault(text: string, clause: number): Fault | undefined {
  const words = new WordReader(text);
  try {
    return readWords(words);
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    throw new ScriptError(`Clause ${clause} of the rehearsal script is wrong: there is no fault "${words.name}", or it takes other words.`);
  }
}

function readWords(words: WordReader): Fault | undefined {
  const form = readFaultForm(words);
  if (form !== undefined) return words.atEnd ? form : syntaxError();
  const name = words.match(/^[a-z]+$/i)?.toLowerCase();
  if (name === 'steady' && words.atEnd) return undefined;
  const read = name !== undefined && Object.hasOwn(FAULT_READERS, name) ? FAULT_READERS[name] : undefined;
  const fault = read?.(words);
  return fault !== undefined && words.atEnd ? fault : syntaxError();
}
