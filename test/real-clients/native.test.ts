// Recorded requests of the native client, replayed in order: its requests reach the account, and the answers of the account reach it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../proxy/turn/json/json.ts';
import { startGateway } from '../support/gateway.ts';
import { hasWebsockets, isLite, recordedSessions } from '../support/recorded.ts';
import { replyEvents } from '../support/rehearsal-replies.ts';

const MARKER = 'x-internal-agent-responses-lite';

/** Headers of native clients that an account may not see (F8.1.2), or that belong to the gateway (F2.4). */
const KEPT_BACK = new Set(['session-id', MARKER]);

for (const session of recordedSessions().filter((one) => !hasWebsockets(one))) {
  test(`the session ${session.name}`, async () => {
    const { requests, models } = session;
    await using gate = await startGateway({ upstream: { accounts: ['north'], models } });
    gate.upstream.clear();
    const list = await gate.send('/backend-api/agent/models?client_version=0.169.0');
    const lite = isLite(session);
    let turns = 0;

    for (const { method, path, headers, body, answer } of requests) {
      assert.ok(answer);
      if (answer.events) gate.upstream.next('north', replyEvents(answer.events as readonly Json[], { headers: answer.headers }));
      const reply = await gate.send(path, { method, headers, ...(body ? { body } : {}) });
      assert.equal(reply.status, answer.status, reply.text);

      if (answer.body) {
        // Entries pass unchanged, except that the gateway adds what it sets itself.
        assert.deepEqual(
          reply.json.models.map(({ slug }: { slug: string }) => slug),
          answer.body.models.map(({ slug }) => slug),
        );
        for (const [index, { auto_compact_token_limit, ...entry }] of answer.body.models.entries()) {
          for (const [member, value] of Object.entries(entry)) assert.deepEqual(reply.json.models[index][member], value, member);
        }
        assert.equal(reply.headers.get('etag'), list.headers.get('etag'));
        continue;
      }

      const bytes = (answer.events ?? []).map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
      assert.equal(reply.text, bytes, 'the stream is relayed byte for byte');
      assert.equal(reply.headers.get('x-models-etag'), list.headers.get('etag'), 'no refetch is triggered');
      for (const [header, value] of Object.entries(answer.headers)) {
        if (header !== 'x-models-etag' && header !== 'x-request-id') assert.equal(reply.headers.get(header), value, header);
      }

      const turn = gate.upstream.turns()[turns++];
      for (const [header, value] of Object.entries(headers)) {
        assert.equal(turn?.headers[header], KEPT_BACK.has(header) ? (header === MARKER && lite ? 'true' : undefined) : value, header);
      }
      assert.equal(turn?.headers[MARKER], lite ? 'true' : undefined);
      if (!lite) assert.deepEqual(turn?.json, body, 'the body is what the client sent');
      else {
        const sent = turn?.json as { input: Json[] };
        const said = body?.input as Json[];
        assert.deepEqual(sent.input.slice(-said.length), said, 'the input is what the client sent');
      }
    }
    assert.equal(turns, requests.filter(({ answer }) => answer?.events).length);
    const rows = await gate.rows();
    assert.ok(rows.every(({ status }) => status === 200));
    assert.ok(
      rows.filter(({ method }) => method === 'POST').every(({ outcome, input_tokens }) => outcome === 'completed' && input_tokens !== null),
    );
  });
}
