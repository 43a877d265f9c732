// Turns that exist only on websockets: turns whose client comes back or does not, prewarms, and anchored compactions.
import assert from 'node:assert/strict';
import { userMessage } from '../../support/native-frames.ts';
import { until } from '../../support/until.ts';
import { connect, type TestSocket } from '../../support/websocket.ts';
import { ROUTES } from './client-routes.ts';
import { compactionReply, type Delivery, ending, lastWord, paused, prewarmed, responseId } from './deliveries.ts';
import { type KeyName, secretOf } from './stage.ts';
import type { Turn, Turns } from './turns.ts';

/**
 * How a turn ends whose client lost its websocket: without the client, with its client back, after the time for coming back, or replaced by
 * an edited turn.
 */
export const OUTCOMES = ['alone', 'resumed', 'expired', 'replaced'] as const;

/** The same value as `timeouts.websocket_resume_ms`. */
const RESUME_MS = 30_000;

const NATIVE = ROUTES['native websocket'];
const PUBLIC = ROUTES['public websocket'];

const frameOf = ({ planned, route, asked }: Turn): string =>
  JSON.stringify({ ...(route.send(asked).body as object), client_metadata: { turn_id: `turn_${planned.id}`, session_id: 'session' } });

export async function detachedTurn(turns: Turns, key: KeyName, outcome: (typeof OUTCOMES)[number]): Promise<void> {
  const { stage, random } = turns;
  const { gate, clock } = stage;
  const ends = outcome === 'alone' || outcome === 'resumed' ? 'whole' : 'broken';
  const turn = turns.plan(NATIVE, key, (id) => [paused(random, id)[ends]]);
  const open = (): Promise<TestSocket> =>
    connect(gate, NATIVE.path, { key: secretOf(key), headers: { 'x-agent-window-id': `window-${turn.planned.id}:0` } });
  const socket = await open();
  socket.send(frameOf(turn));
  await until('the output', () => JSON.stringify(socket.frames).includes(lastWord(turn.planned.id)) || undefined);
  const detached = gate.count('turns_detached');
  socket.terminate();
  await until('the turn without its client', () => gate.count('turns_detached') > detached || undefined);
  if (outcome === 'alone') gate.upstream.release(turn.planned.account);
  else if (outcome === 'expired') await clock.advance(RESUME_MS);
  else {
    using back = await open();
    const next = outcome === 'resumed' ? turn : turns.plan(NATIVE, key, (id) => [ending(random, 'events', { id, endsCleanly: false })]);
    back.send(frameOf(next));
    const resumed = gate.count('turns_resumed');
    if (outcome === 'resumed') {
      await until('the turn with its client', () => gate.count('turns_resumed') > resumed || undefined);
      gate.upstream.release(turn.planned.account);
    }
    // The connection closes when the reply breaks off.
    await back.rest().catch(() => undefined);
  }
  await turns.settle();
}

export async function prewarm(turns: Turns, key: KeyName): Promise<void> {
  const turn = turns.plan(NATIVE, key, (id) => [prewarmed(turns.random, id)]);
  using socket = await connect(turns.stage.gate, NATIVE.path, { key: secretOf(key) });
  const frames = await socket.turn({ ...(NATIVE.send(turn.asked).body as object), generate: false });
  assert.equal(frames.at(-1)?.type, 'response.completed');
  await turns.settle();
}

/** Runs a turn, then compacts its conversation over the same websocket. */
export async function anchoredCompaction(turns: Turns, key: KeyName): Promise<void> {
  const { stage, random } = turns;
  const first = turns.plan(PUBLIC, key, (id) => [paused(random, id).whole]);
  using socket = await connect(stage.gate, PUBLIC.path, { key: secretOf(key) });
  socket.send(JSON.stringify(PUBLIC.send(first.asked).body));
  await until('the output', () => JSON.stringify(socket.frames).includes(lastWord(first.planned.id)) || undefined);
  stage.gate.upstream.release(first.planned.account);
  await socket.rest();
  const tokens = { input: 700, cached: 300, output: 24 };
  const usage = { input_tokens: tokens.input, input_tokens_details: { cached_tokens: tokens.cached }, output_tokens: tokens.output };
  const { model } = first.asked;
  const compacted = (id: number): Delivery => ({
    script: (request) => compactionReply(request, id, usage),
    settled: { as: 'stated', tokens },
  });
  const second = turns.plan(PUBLIC, key, (id) => [compacted(id)], model);
  const frames = await socket.turn({
    model,
    previous_response_id: responseId(first.planned.id),
    input: [userMessage(second.asked.prompt.text), { type: 'compaction_trigger' }],
  });
  assert.equal(frames.at(-1)?.type, 'response.completed', JSON.stringify(frames));
  await turns.settle();
}
