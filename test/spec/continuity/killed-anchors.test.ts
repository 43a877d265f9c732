// An anchor that a client has received is already in the file, so it survives a kill of the process (Q10).
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, responseId } from '../../support/native-frames.ts';
import { idOf, NATIVE, user } from '../../support/stages/continuity.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

/** A clock on which no wait of more than 50 ms ends, so work that waits longer is not on disk within 50 ms. */
class FirstMoments extends ShiftedClock {
  override after(ms: number, run: () => void): () => void {
    return ms <= 50 ? super.after(ms, run) : () => undefined;
  }
}

const TURN = { model: 'model-a', input: [user('hello')], store: true };

const southFirst = ({ pools }: Draft): void => void pools[0].assignments.reverse();

/** Starts two gateways on one file: the second one has only what is written, like a process that starts after a kill. */
async function twoOnOneFile(context: TestContext): Promise<{ readonly maker: TestGateway; readonly next: TestGateway }> {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-killed-'));
  const maker = await startGateway({
    clock: new FirstMoments(),
    store: `sqlite:${folder}/poolgate.db`,
    // The accounts take any anchor, so only the pin decides where a turn goes.
    upstream: { strict: false },
    config: (draft) => {
      draft.store_key = { file: `${folder}/store.key` };
    },
  });
  const next = await maker.twin({ config: southFirst });
  context.after(async () => {
    await next.stop();
    await maker.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { maker, next };
}

const turns: Readonly<Record<string, (gate: TestGateway) => Promise<string>>> = {
  'a native stream': async (gate) => idOf(await gate.send(NATIVE, { body: { ...TURN, stream: true } })),
  'a native answer': async (gate) => idOf(await gate.send(NATIVE, { body: { ...TURN, stream: false } })),
  'a websocket that is still open': async (gate) => {
    const socket = await connect(gate);
    return responseId(await socket.turn(frameOf('hello', { store: true })));
  },
};

for (const [kind, made] of Object.entries(turns)) {
  test(`[Q10] the pin of a response that a client got by ${kind} is written without a wait of more than 50 ms`, async (context) => {
    const { maker, next } = await twoOnOneFile(context);
    const anchor = await made(maker);
    const body: JsonObject = { ...TURN, stream: true, previous_response_id: anchor };
    await until('the pin in the file', async () => ((await next.send(NATIVE, { body })).status === 200 ? true : undefined));
    assert.deepEqual(
      next.upstream.turns().map(({ account }) => account),
      ['north', 'north'],
    );
  });
}
