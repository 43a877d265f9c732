// A client comes back over two connections with the same edited frame before the replaced turn has ended (F8.4, Q29).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { turnFrame, typesOf, userMessage } from '../../support/native-frames.ts';
import { dropped, openSession, QUESTION } from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';

interface SlowLogin {
  readonly gate: TestGateway;
  /** The number of refreshes that the endpoint got. */
  readonly asked: () => number;
  /** Lets the token endpoint answer. */
  readonly answer: () => void;
}

/** A Pool of one account whose token endpoint delays its answer. A turn that waits for its token does not end earlier. */
async function withSlowLogin(context: TestContext): Promise<SlowLogin> {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-replaced-'));
  await writeFile(join(folder, 'north.json'), JSON.stringify({ tokens: { access_token: 'at-1', refresh_token: 'rt-1' } }));
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  let asked = 0;
  let provider = '';
  const endpoint = createServer(async (request, response) => {
    const body = await text(request);
    asked += 1;
    await answered;
    const { 'content-type': type = '' } = request.headers;
    const reply = await fetch(`${provider}/oauth/token`, { method: 'POST', headers: { 'content-type': type }, body });
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(await reply.text());
  });
  await once(endpoint.listen(0, '127.0.0.1'), 'listening');
  const gate = await startGateway({
    store: `sqlite:${folder}/p.db`,
    upstream: { strict: false, accounts: [{ id: 'north', oauth: { refresh_token: 'rt-1', access_token: 'at-1' } }] },
    config: (draft) => {
      const [north] = draft.accounts;
      provider = north.base_url;
      draft.store_key = { file: `${folder}/store.key` };
      const token_url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/oauth/token`;
      north.credential = { oauth: { file: `${folder}/north.json`, token_url, client_id: 'c' } };
    },
  });
  context.after(async () => {
    answer();
    await gate.close();
    endpoint.close();
    await rm(folder, { recursive: true });
  });
  return { gate, asked: () => asked, answer };
}

test('[F8.4] an edited turn that comes over two connections, while the turn that it replaces ends, is dispatched once, for the later one', async (context) => {
  const { gate, asked, answer } = await withSlowLogin(context);
  gate.upstream.loginOf('north').expire();
  const first = await openSession(gate);
  first.send(turnFrame('t1', QUESTION));
  await until('the refresh', () => asked() || undefined);
  await dropped(gate, first);
  gate.upstream.clear();

  const edited = turnFrame('t2', [...QUESTION, userMessage('something else')]);
  using one = await openSession(gate);
  one.send(edited);
  await one.ping();
  using other = await openSession(gate);
  other.send(edited);
  await other.ping();
  answer();
  assert.equal(typesOf(await other.rest()).at(-1), 'response.completed');
  assert.deepEqual(await one.closed, { code: 1001, reason: 'resumed by another connection' });
  assert.deepEqual(
    gate.upstream.turns().map(({ account }) => account),
    ['north'],
  );
  assert.deepEqual([gate.count('turns_replaced'), gate.count('turns_resumed')], [1, 1]);
});
