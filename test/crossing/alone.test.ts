// Every client with every kind of server, each server alone in its Pool: all of them run the same table of cases.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { presetOf } from '../../proxy/turn/provider/presets.ts';
import type { TestGateway } from '../support/gateway.ts';
import { sampleOf } from '../support/sample.ts';
import type { Asked, Came, Client } from './clients/client.ts';
import { CLIENTS, keyOf, SERVERS, type Server, startStage } from './stage.ts';

let gate: TestGateway;
before(async () => {
  gate = await startStage();
});
after(() => gate.close());
beforeEach(() => gate.reset());

const look = { name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } };
const see = { name: 'see', parameters: { type: 'object', properties: {} } };
const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** What a server cannot do, according to the settings of its account. */
const cannot = {
  images: ({ preset }: Server): boolean => preset === 'deepseek',
  choice: ({ preset }: Server): boolean => preset === 'ollama' || preset === 'deepseek',
};

interface Crossing {
  readonly client: Client;
  readonly server: Server;
  readonly ask: (asked: Asked) => Promise<Came>;
  readonly go: (asked: Asked, before: Came, results?: readonly string[]) => Promise<Came>;
}

function whole(came: Came): Came {
  assert.deepEqual([came.status, came.end, came.error], [200, 'whole', undefined], came.raw);
  return came;
}

const CASES: Readonly<Record<string, (crossing: Crossing) => Promise<void>>> = {
  async 'a text'({ ask, server }) {
    const came = whole(await ask({ text: 'hello' }));
    assert.equal(came.text, `This is the rehearsal provider answering as ${server.id}. You said: hello`);
    assert.ok((came.output ?? 0) > 0, came.raw);
  },
  async 'a long text, in pieces of seven bytes'({ ask, server }) {
    gate.upstream.always(server.id, 'drip 7 bytes');
    const came = whole(await ask({ text: 'write 20 words' }));
    assert.equal(came.text.split(' ').length, 20);
  },
  async 'a tool loop'({ ask, go }) {
    const asked = { text: 'call the tool look with {"at":"the sky"}', tools: [look, see] };
    const called = whole(await ask(asked));
    assert.deepEqual(
      called.calls.map(({ name, input }) => [name, JSON.parse(input)]),
      [['look', { at: 'the sky' }]],
    );
    const answered = whole(await go(asked, called, ['it is blue']));
    assert.match(answered.text, /The tool answered: it is blue$/);
    const further = whole(await go({ ...asked, text: 'say: and so on' }, answered));
    assert.equal(further.text, 'and so on');
  },
  async 'two calls at once, with reasoning'({ ask, go, server }) {
    const asked = { text: 'call the tool look with {"at":"a"}\ncall the tool see with {}', tools: [look, see], effort: 'low' };
    const called = whole(await ask(asked));
    const names = called.calls.map(({ name }) => name);
    assert.deepEqual(names, ['look', 'see'], server.id);
    assert.equal(new Set(called.calls.map(({ id }) => id)).size, 2);
    assert.match(whole(await go(asked, called, ['one', 'two'])).text, /The tool answered: two$/);
  },
  async 'a required and a named tool'({ ask, server }) {
    for (const choice of ['required', 'look']) {
      const came = await ask({ text: 'hello', tools: [look], choice });
      if (cannot.choice(server))
        assert.deepEqual(
          [came.status, came.error === 'unsupported_parameter' || came.error === 'invalid_request_error'],
          [400, true],
          came.raw,
        );
      else
        assert.deepEqual(
          whole(came).calls.map(({ name }) => name),
          ['look'],
        );
    }
  },
  async 'an image'({ ask, server }) {
    const came = await ask({ text: 'say: I see', image: PIXEL });
    if (cannot.images(server)) assert.equal(came.status, 400, came.raw);
    else assert.equal(whole(came).text, 'I see');
  },
  async 'structured output'({ ask, client }) {
    if (!client.hasSchemas) return;
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
    assert.deepEqual(JSON.parse(whole(await ask({ text: 'hello', schema })).text), { city: 'rehearsal' });
  },
  async 'an output cap, a filter and a refusal'({ ask, client, server }) {
    // Agent backends take no cap (Q35), and they get the body of a native client unchanged.
    if (server.api !== 'agent') assert.equal((await ask({ text: 'write 900 words', most: 20 })).end, 'cut');
    const filtered = await ask({ text: 'say: hello\nstop filtered' });
    assert.notEqual(filtered.end, 'failed', `${client.name} ${filtered.raw}`);
    const declined = await ask({ text: 'decline' });
    assert.match(declined.text, /declines/, declined.raw);
  },
  async 'a refused request'({ ask, server }) {
    gate.upstream.next(server.id, 'refuse 400 invalid_value');
    const came = await ask({ text: 'hello' });
    assert.deepEqual([came.status, came.end], [400, 'failed'], came.raw);
  },
  async 'a failure before output'({ ask, server }) {
    gate.upstream.always(server.id, 'refuse 503');
    const came = await ask({ text: 'hello' });
    assert.ok([502, 503, 529].includes(came.status), came.raw);
    assert.equal(came.end, 'failed');
  },
  async 'a failure in the stream'({ ask, server, client }) {
    gate.upstream.always(server.id, server.api === 'chat' ? 'error chunk after 6 events' : 'refuse inside after 6 events');
    const came = await ask({ text: 'write 40 words' });
    assert.equal(came.end, 'failed', came.raw);
    assert.notEqual(came.error, undefined, came.raw);
    // A JSON answer reports the failure by its status; a stream has already shown its first words.
    assert.equal(came.status === 200, client.transport !== 'json', came.raw);
  },
  async 'a connection that ends in the stream'({ ask, server }) {
    gate.upstream.always(server.id, 'cut after 8 events');
    const came = await ask({ text: 'write 40 words' });
    assert.equal(came.end, 'failed', came.raw);
  },
};

const crosses = Object.keys(CASES).flatMap((name, i) =>
  CLIENTS.flatMap((client, j) => SERVERS.map((server) => ({ name, client, server, place: i + j }))),
);
const PLAIN = ['native', 'platform', 'socket', 'box'];
/** Each case of each client runs at one of the plain servers, in rotation. */
const always = crosses.filter(({ server, place }) => server.id === PLAIN[place % PLAIN.length]);

/** A client over a websocket needs an account with websocket (AA24). */
const meets = (client: Client, { api, preset, settings }: Server): boolean =>
  client.transport !== 'websocket' ||
  api === 'agent' ||
  settings?.websocket === true ||
  (api === 'responses' && !!preset && presetOf(preset).websocket);

for (const { client, server } of sampleOf(crosses.filter(({ client, server, name }) => name === 'a text' && !meets(client, server)))) {
  test(`[AA24] ${client.name} at ${server.id} is refused the upgrade`, async () => {
    const came = await client.first(gate, keyOf(server.id), { text: 'hello' });
    assert.deepEqual([came.status, came.error], [426, 'websocket_upgrade_required'], came.raw);
  });
}

for (const { name, client, server } of sampleOf(
  crosses.filter(({ client, server }) => meets(client, server)),
  always,
)) {
  test(`[AA91] ${client.name} at ${server.id}: ${name}`, async () => {
    const key = keyOf(server.id);
    await CASES[name]?.({
      client,
      server,
      ask: (asked) => client.first(gate, key, asked),
      go: (asked, came, results = []) => client.next(gate, key, asked, came, results),
    });
  });
}
