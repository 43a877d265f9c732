// Replies of accounts over HTTP that are broken at every byte: cut, reset, silent, changed, shortened, lengthened or late. And accounts
// that leave after they have read a number of bytes.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, eachAt, interleaved } from '../attack.ts';
import type { HttpCall } from '../calls/call.ts';
import { DISPATCHED_CALLS, TURN_CALLS } from '../calls/http-calls.ts';
import { runCall, runClean } from '../calls/run-call.ts';
import type { Outcome } from '../calls/verdict.ts';
import { expect, shown } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import type { Exchange, HandAnswer, Plan } from '../wire/exchanges.ts';
import { WIRE_FAULTS, type WireFault } from '../wire/faulty-writer.ts';

/** How often a byte gets a fault after which the gateway waits for a deadline. */
const ONE_IN: Readonly<Partial<Record<WireFault['kind'], number>>> = { stall: 61, drop: 17, surplus: 5 };

/** How an account leaves. */
const ENDS = ['cut', 'reset'] as const;

const bytesOf = (api: 'agent' | 'responses' | 'chat', calls: readonly HttpCall[], sample: number): Attack => ({
  name: api === 'agent' ? 'provider-bytes' : `${api}-bytes`,
  title: `replies ${api === 'agent' ? '' : `of ${api} accounts `}over HTTP broken at each byte`,
  stage: api === 'agent' ? 'ordinary' : api,
  sample,
  async cases(stage, random) {
    const [lane] = stage.lanes;
    const sources: Iterable<Case>[] = [];
    for (const call of calls) {
      await runClean(lane, call);
      // The wire has the whole reply when the client has its answer, but a reply of events may end a moment later.
      const { list } = lane.exchanges;
      const replies = list.map(({ passed }, exchange) => casesOf(call, { exchange, bytes: passed }, random));
      const requests = list.map(({ request }, exchange) => leavingCases(call, { exchange, bytes: request.length }, random));
      sources.push(interleaved([...replies, ...requests]));
    }
    return interleaved(sources);
  },
});

export const providerBytes = bytesOf('agent', DISPATCHED_CALLS, 120);

/** Replies that are translated or repaired. */
export const responsesBytes = bytesOf('responses', TURN_CALLS, 60);
export const chatBytes = bytesOf('chat', TURN_CALLS, 60);

interface Target {
  readonly exchange: number;
  readonly bytes: number;
}

function* casesOf(call: HttpCall, { exchange, bytes }: Target, random: SeededRandom): Generator<Case> {
  for (const [kind, at] of eachAt(WIRE_FAULTS, bytes, random)) {
    const byte = Math.floor(random.between(0, 256));
    if (at % (ONE_IN[kind] ?? 1) !== 0) continue;
    const where = exchange === 0 ? '' : ` ${exchange}`;
    yield {
      name: `${call.name}${where}:${kind}:${at}:${byte}`,
      run: (lane) => broken(lane, call, { exchange, fault: { kind, at, byte } }),
    };
  }
}

function* leavingCases(call: HttpCall, { exchange, bytes }: Target, random: SeededRandom): Generator<Case> {
  for (const [how, at] of eachAt(ENDS, bytes, random)) {
    yield {
      name: `${call.name} ${exchange}:${how} behind ${at} of the request`,
      run: (lane) => left(lane, call, { exchange, answer: leaving(at, how) }),
    };
  }
}

/** Ends the connection when it has read this many bytes of the request. */
const leaving =
  (at: number, how: (typeof ENDS)[number]): HandAnswer =>
  (_writer, gateway, request) => {
    let read = request.length;
    const leave = (): void => void (how === 'cut' ? gateway.end() : gateway.resetAndDestroy());
    if (read >= at) leave();
    else
      gateway.on('data', (more: Buffer) => {
        read += more.length;
        if (read >= at) leave();
      });
  };

async function left(lane: Lane, call: HttpCall, plan: Plan): Promise<void> {
  await lane.restore();
  await runCall(lane, call, { plan });
  const { length } = lane.exchanges.list;
  if (call.retry === 'never') expect(length === 1, () => `${length} requests to accounts of one that can be sent once`);
}

/** Faults that change the content of the reply. */
export const SPOILING: ReadonlySet<WireFault['kind']> = new Set(['corrupt', 'drop', 'surplus']);

async function broken(lane: Lane, call: HttpCall, plan: { readonly exchange: number; readonly fault: WireFault }): Promise<void> {
  await lane.restore();
  const { kind } = plan.fault;
  const said = SPOILING.has(kind) ? 'spoilt' : 'as ever';
  const outcome = await runCall(lane, call, { plan, said });
  const { list } = lane.exchanges;
  if (kind === 'part') {
    expect(outcome.kind === 'whole', () => `a reply in two parts: ${outcome.answer.status} ${shown(outcome.answer.body)}`);
  }
  const hit = list.findIndex(({ broken: fault }) => fault !== undefined);
  // It is unknown how the gateway reads a changed reply.
  if (hit !== -1 && said === 'as ever') checkRetries(call, { outcome, list, hit });
}

/** Checks that no other request follows after something was shown, and that a billed reply is requested once. */
function checkRetries(
  { retry, exchanges }: HttpCall,
  { outcome, list, hit }: { readonly outcome: Outcome; readonly list: readonly Exchange[]; readonly hit: number },
): void {
  const behind = list.length - 1 - hit;
  if (outcome.kind === 'broken') expect(behind === 0, () => `${behind} requests behind a reply that was shown and broke off`);
  // A call with several exchanges continues after each.
  if (exchanges > 1) return;
  const head = list[hit]?.reply.toString('latin1') ?? '';
  const began = /^HTTP\/1\.1 2\d\d .*\r\n\r\n/s.test(head);
  if (retry === 'never') expect(behind === 0, () => `${behind} requests behind one that could be sent once`);
  if (retry === 'before head' && began) expect(behind === 0, () => `${behind} requests behind a reply that had begun`);
  const accounts = [...outcome.answer.body.toString().matchAll(/answering as ([\w-]+)/g)].map(([, account]) => account);
  const last = list.at(-1)?.account;
  expect(
    accounts.every((account) => account === last),
    () => `text of ${accounts.join(', ')}, and the last request went to ${last}`,
  );
}
