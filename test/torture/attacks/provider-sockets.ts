// Replies of accounts on websockets that are broken at every byte of the upgrade's answer, of each frame's head, and of its text.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, eachAt, interleaved } from '../attack.ts';
import type { SocketCall } from '../calls/call.ts';
import { runSocketCall, type SocketTurn } from '../calls/run-socket-call.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { expect } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import { WIRE_FAULTS, type WireFault } from '../wire/faulty-writer.ts';
import { SPOILING } from './provider-bytes.ts';

/** How often a byte gets a fault after which the gateway waits for a deadline. */
const ONE_IN: Readonly<Partial<Record<WireFault['kind'], number>>> = { stall: 61, drop: 5, surplus: 5 };

export const providerSockets: Attack = {
  name: 'provider-sockets',
  title: 'replies on websockets broken at each byte',
  stage: 'ordinary',
  sample: 120,
  async cases(stage, random) {
    const [lane] = stage.lanes;
    const sources: Iterable<Case>[] = [];
    for (const call of SOCKET_CALLS) {
      const turns = await runSocketCall(lane, call);
      const whole = turns.filter(({ end }) => end === 'terminal').length;
      expect(whole === call.frames.length, () => `${call.name} without a fault: ${JSON.stringify(turns.at(-1))}`);
      sources.push(casesOf(call, lane.exchanges.list[0]?.passed ?? 0, random));
    }
    return interleaved(sources);
  },
};

function* casesOf(call: SocketCall, bytes: number, random: SeededRandom): Generator<Case> {
  for (const [kind, at] of eachAt(WIRE_FAULTS, bytes, random)) {
    const byte = Math.floor(random.between(0, 256));
    if (at % (ONE_IN[kind] ?? 1) !== 0) continue;
    yield { name: `${call.name}:${kind}:${at}:${byte}`, run: (lane) => broken(lane, call, { kind, at, byte }) };
  }
}

async function broken(lane: Lane, call: SocketCall, fault: WireFault): Promise<void> {
  await lane.restore();
  const word = SPOILING.has(fault.kind) ? 'spoilt' : 'as ever';
  const turns = await runSocketCall(lane, call, { plan: { exchange: 0, fault }, said: word });
  expect(turns[0]?.end !== 'refused', () => `the upgrade was refused with ${turns[0]?.code}`);
  if (fault.kind === 'part') expect(turns.at(-1)?.end === 'terminal' && turns.length === call.frames.length, () => said(turns));
  if (word === 'as ever') checkDispatches(lane, turns);
}

/**
 * Checks that the text that a client saw is from one account, and that nothing was sent after a reply that broke off after it was shown.
 */
function checkDispatches({ exchanges: { list } }: Lane, turns: readonly SocketTurn[]): void {
  const hit = list.findIndex(({ broken: fault }) => fault !== undefined);
  if (hit === -1) return;
  const last = turns.at(-1);
  const isShown = last?.frames.some(({ type }) => type === 'response.output_text.delta') === true;
  if (last?.end !== 'terminal' && isShown) {
    expect(list.length - 1 === hit, () => `${list.length - 1 - hit} requests behind a reply that was shown: ${said(turns)}`);
  }
  const created = last?.frames.filter(({ type }) => type === 'response.created').length ?? 0;
  expect(created <= 1, () => `${created} replies in one turn: ${said(turns)}`);
}

const said = (turns: readonly SocketTurn[]): string =>
  turns
    .map(({ end, code, frames }) => `${end} ${code ?? ''} [${frames.map(({ type }) => type).join(' ')}] ${JSON.stringify(frames.at(-1))}`)
    .join('; ');
