// The public SSE codec in isolation, because a whole gateway would depend on timing: its timer after the end of a stream.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { PublicSseSink } from '../../proxy/surfaces/public/public-sse-sink.ts';
import type { LiveTurn } from '../../proxy/turn/live-turn.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { headOf, RawClient } from '../support/network/raw.ts';

const LARGE = 'x'.repeat(8_000_000);

for (const ending of ['close', 'cut'] as const) {
  test(`no comment is written after the end of a stream that its client has not read yet (${ending})`, async (context) => {
    const clock = new ManualClock();
    const ended = Promise.withResolvers<void>();
    const server = createServer((_request, response) => {
      const turn = { now: () => clock.now(), after: (ms: number, run: () => void) => clock.after(ms, run) } as unknown as LiveTurn;
      const sink = new PublicSseSink(response, turn);
      response.on('error', ended.reject);
      sink.open(200, {});
      sink.event({ type: 'response.output_text.delta', data: { type: 'response.output_text.delta', delta: LARGE } });
      assert.equal(sink.flush(), false);
      if (ending === 'close') sink.close([], { kind: 'completed', shown: true });
      else sink.cut();
      void clock.advance(60_000).then(ended.resolve);
    });
    context.after(() => void server.close().closeAllConnections());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    using client = await RawClient.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    client.socket.pause();
    client.write(headOf('GET', '/'));
    await ended.promise;
    assert.equal(clock.pending, 0);
    client.socket.resume();
    const { body } = await client.answer();
    assert.ok(body.endsWith(ending === 'close' ? 'data: [DONE]\n\n' : 'x"}\n\n'), 'the reader gets all that was written');
  });
}
