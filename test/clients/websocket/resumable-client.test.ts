// What is kept of a turn for which its client may come back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { MemoryGuard } from '../../../proxy/base/bytes/memory-guard.ts';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { ResumableClient } from '../../../proxy/clients/websocket/resumable-client.ts';
import type { WebsocketConnection } from '../../../proxy/clients/websocket/websocket-connection.ts';
import { ProcessDigest } from '../../../proxy/encryption/digest.ts';
import { TurnIdentity } from '../../../proxy/sessions/turn-identity.ts';
import type { LiveTurn } from '../../../proxy/turn/live-turn.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { inUse } from '../../support/program/memory-in-use.ts';

const connection = {
  isOpen: true,
  upstreamSocket: {},
  onClosed: () => () => undefined,
  send: () => true,
} as unknown as WebsocketConnection;

interface Started {
  readonly client: ResumableClient;
  readonly clock: ManualClock;
  readonly held: readonly WeakRef<object>[];
}

function started(): Started {
  const turn = { surface: { numbersEvents: false } } as unknown as LiveTurn;
  const tools = [{ type: 'function', name: 'shell' }];
  const json = { type: 'response.create', tools };
  const clock = new ManualClock();
  const client = new ResumableClient(turn, { json, bytes: 1 }, connection, {
    identity: new TurnIdentity('t1', json, new ProcessDigest()),
    windowMs: 30_000,
    memory: { maxBytes: 1_000_000, replies: new MemoryGuard(), maxReplies: 1_000_000 },
    canComeBack: () => true,
    clock,
    counters: new Counters(),
    forget: () => undefined,
  });
  return { client, clock, held: [new WeakRef(turn), new WeakRef(tools)] };
}

test('a turn that has ended keeps its frames for the client, but after half a second neither its request nor its state', async () => {
  const { client, clock, held } = started();
  await client.json();
  const sink = client.sink();
  sink.event({ type: 'response.completed', data: { type: 'response.completed' } });
  sink.close([], { kind: 'completed', shown: true });
  client.ended({ outcome: { kind: 'completed', shown: true }, status: 200, code: null });
  await clock.advance(500);
  await setImmediate();
  inUse();
  assert.deepEqual(
    held.map((ref) => ref.deref()),
    [undefined, undefined],
  );
  assert.ok(client.currentConnection && client.isOver);
});
