// A running gateway reloads its file for every way of saving it and every cause of a reload, also with turns in progress.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { type Draft, KEY, startGateway } from '../../support/gateway.ts';
import { postOf, RawClient } from '../../support/network/raw.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { type Program, startProgram } from '../../support/program/program.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const TURN = turnBody('hello');

/** Adds a key with this secret, so that clients can see when the file has taken effect. */
const withKey =
  (id: string) =>
  (draft: Draft): void => {
    draft.keys.push({ id, pool: 'team', secret_sha256: [hash('sha256', `secret-of-${id}`, 'hex')] });
  };

const opens = (program: Program, id: string) =>
  until(`key ${id} to open`, async () => ((await program.status('/v1/models', { key: `secret-of-${id}` })) === 200 ? true : undefined));

describe('the file is reloaded', () => {
  let program: Program;
  before(async () => {
    program = await startProgram({ here: true });
  });
  after(() => program[Symbol.asyncDispose]());

  test('when it is written in place', async () => {
    program.save(withKey('in-place'));
    await opens(program, 'in-place');
  });

  test('when another file is moved into its place', async () => {
    program.replace(withKey('moved'));
    await opens(program, 'moved');
  });

  test('when it is gone for a moment', async () => {
    const aside = join(program.folder, 'aside.yaml');
    renameSync(program.path, aside);
    withKey('back')(program.draft);
    writeFileSync(aside, stringify(program.draft));
    renameSync(aside, program.path);
    await opens(program, 'back');
  });

  test('a file with an error changes nothing and is reported with its place, and the next save takes effect', async () => {
    const refused = program.lines('reload_refused').length;
    const text = readFileSync(program.path, 'utf8');
    writeFileSync(program.path, text.replace('pool: team', 'pool: taem'));
    const line = await program.line('reload_refused', refused);
    assert.equal(line.message, "keys[ci].pool: there is no Pool 'taem'; did you mean 'team'?");
    assert.ok(line.line > 0 && line.column > 0);
    await opens(program, 'back');
    assert.equal(await program.status('/v1/models'), 200);
    program.save(withKey('mended'));
    await opens(program, 'mended');
  });

  test('a refused file is reported with its errors only, and not with its warnings', async () => {
    const refused = program.lines('reload_refused').length;
    program.save((draft) => {
      draft.accounts.push({ id: 'spare', preset: 'azure', base_url: 'https://spare.example/openai/v1', credential: 'none' });
      draft.keys.push({ id: 'lost', pool: 'taem', secret_sha256: [hash('sha256', 'secret-of-lost', 'hex')] });
    });
    await program.line('reload_refused', refused);
    const messages = program
      .lines('reload_refused')
      .slice(refused)
      .map(({ message }) => message);
    assert.deepEqual(messages, ["keys[lost].pool: there is no Pool 'taem'; did you mean 'team'?"]);
    program.save((draft) => {
      draft.accounts.pop();
      draft.keys.pop();
    });
  });

  test('a setting that needs a restart is named, and keeps its running value', async () => {
    await program.line('config_changed', 3);
    const changed = program.lines('config_changed').length;
    program.save((draft) => {
      draft.listen.port = 4999;
      draft.store = 'sqlite:data/other.db';
      draft.log = { level: 'debug' };
    });
    const lines = await until('three changes', () => {
      const news = program.lines('config_changed').slice(changed);
      return news.length >= 3 ? news.map(({ change }) => change as string) : undefined;
    });
    assert.deepEqual(
      lines.map((line) => line.replace(/"[^"]*\/data\//g, '"data/')).toSorted(),
      [
        'listen.port: 0 -> 4999 (after a restart)',
        'log.level: "info" -> "debug"',
        'store: "data/poolgate.db" -> "data/other.db" (after a restart)',
      ].map((line) => line.replace('"data/', '"data/')),
    );
    assert.equal(await program.status('/v1/models'), 200);
    await program.line('request');
    const { out } = await program.poolgate('reload');
    assert.match(out, /listen\.port: 0 -> 4999 \(after a restart\)/);
    program.save((draft) => {
      draft.listen.port = 0;
      delete draft.store;
    });
  });
});

test('a link is followed to another file, as mounted volumes change theirs', async () => {
  await using program = await startProgram({
    here: true,
    place: (folder, text) => {
      // The links are config.yaml -> ..data/config.yaml and ..data -> v1; a mounted volume changes by a swap of the middle link.
      mkdirSync(join(folder, 'v1'));
      writeFileSync(join(folder, 'v1', 'config.yaml'), text);
      symlinkSync('v1', join(folder, '..data'));
      symlinkSync(join('..data', 'config.yaml'), join(folder, 'config.yaml'));
      return join(folder, 'config.yaml');
    },
  });
  for (const version of ['v2', 'v3']) {
    withKey(version)(program.draft);
    mkdirSync(join(program.folder, version));
    writeFileSync(join(program.folder, version, 'config.yaml'), stringify(program.draft));
    symlinkSync(version, join(program.folder, '..next'));
    renameSync(join(program.folder, '..next'), join(program.folder, '..data'));
    await opens(program, version);
  }
});

test('turns in flight keep their configuration: their account, key, Pool and route may all be removed', async () => {
  await using program = await startProgram({ here: true });
  const { upstream } = program;
  const streams = [];
  for (const path of ['/backend-api/agent/responses', '/v1/responses']) {
    for (const account of ['north', 'south']) upstream.next(account, 'stall after 4 events');
    streams.push(await program.fetch(path, { body: TURN }));
  }
  await until('both to be held', () => (upstream.turns().length === 2 ? true : undefined));

  program.save((draft) => {
    draft.accounts = [{ id: 'east', base_url: 'rehearsal:' }];
    draft.pools = [{ id: 'other', assignments: [{ account: 'east' }] }];
    draft.keys = [{ id: 'new', pool: 'other', secret_sha256: [hash('sha256', 'secret-of-new', 'hex')] }];
    draft.routes = [{ GET: '/v1/models', status: 'supported', serve: 'models' }];
  });
  await opens(program, 'new');
  assert.equal(await program.status('/v1/models'), 401);
  assert.equal(await program.status('/v1/responses', { body: TURN }), 404);

  upstream.release();
  for (const stream of streams) {
    assert.equal(stream.status, 200);
    const types = eventsOf(await stream.text()).map(({ data }) => data.type ?? data);
    assert.ok(types.includes('response.completed'), types.join());
  }
});

test('an account that does not answer does not delay a reload: the next change still takes effect', async () => {
  await using program = await startProgram({ here: true });
  program.upstream.nextOn('north', '/backend-api/agent/models', 'stall before headers', 'stall before headers', 'stall before headers');
  program.save(withKey('first'));
  await opens(program, 'first');
  program.save(withKey('second'));
  await opens(program, 'second');
  const { code, out } = await program.poolgate('key', 'pause', 'ci');
  assert.equal(code, 0, out);
  await until('the key to be refused', async () => ((await program.status('/v1/models')) === 401 ? true : undefined));
});

test('rehearsal accounts can be added, and wire words changed, while it runs', async () => {
  await using program = await startProgram({ here: true });
  program.save((draft) => {
    draft.accounts = [{ id: 'stage', base_url: 'rehearsal:' }];
    draft.pools[0].assignments = [{ account: 'stage' }];
  });
  await program.line('config_read');
  assert.equal(await program.status('/v1/responses', { body: TURN }), 200);
  assert.equal(program.upstream.turns().length, 0);
  program.save((draft) => {
    draft.wire = { agent: 'codex' };
  });
  const path = '/backend-api/codex/responses';
  await until('the other word to serve', async () => ((await program.status(path, { body: TURN })) === 200 ? true : undefined));
  assert.equal(await program.status('/backend-api/agent/models'), 404);
});

test('a turn on a rehearsal account continues when the rehearsal changes, for longer than a drain', async () => {
  await using program = await startProgram({
    here: true,
    config: (draft) => {
      draft.timeouts = { drain_ms: 100 };
      draft.accounts = [{ id: 'stage', base_url: 'rehearsal:' }];
      draft.pools[0].assignments = [{ account: 'stage' }];
    },
  });
  const body = turnBody('hello', { metadata: { rehearse: 'pace 100' } });
  const stream = await program.fetch('/backend-api/agent/responses', { body });
  const read = program.lines('config_read').length;
  program.save((draft) => draft.accounts.push({ id: 'more', base_url: 'rehearsal:' }));
  await program.line('config_read', read);
  assert.equal(eventsOf(await stream.text()).at(-1)?.data.type, 'response.completed');
});

test('a turn does not send the former credential of its account to the account’s new address', async () => {
  await using gate = await startGateway();
  await using elsewhere = await startUpstream({ accounts: ['south'] });
  gate.upstream.next('north', 'stall before headers + refuse 503');
  gate.upstream.next('south', 'stall before headers + refuse 503');
  const sent = gate.send('/backend-api/agent/responses', { body: TURN });
  const [first] = await gate.upstream.arrived(1);
  const other = first?.account === 'north' ? 1 : 0;
  await gate.reconfigure((draft) => {
    draft.accounts[other].base_url = elsewhere.urlOf('south');
  });
  gate.upstream.release();
  const { status } = await sent;
  assert.deepEqual([status, elsewhere.turns().length], [503, 0]);
});

for (const [what, headers] of [
  ['', {}],
  [' of a session that was there', { 'session-id': 'one' }],
] as const) {
  test(`a turn${what} that was still sending its body when its first account moved goes to another one`, async () => {
    await using gate = await startGateway();
    await using elsewhere = await startUpstream({ accounts: ['north'] });
    assert.equal((await gate.send('/v1/responses', { body: TURN, headers })).status, 200);
    using client = await RawClient.connect(gate.url);
    const request = postOf('/v1/responses', TURN, headers);
    client.write(request.slice(0, -10));
    await until('the turn to begin', () => (gate.count('requests') === 2 ? true : undefined));
    await gate.reconfigure((draft) => {
      draft.accounts[0].base_url = elsewhere.urlOf('north');
    });
    client.write(request.slice(-10));
    assert.equal((await client.answer()).status, 200);
    assert.deepEqual([gate.upstream.turns('south').length, elsewhere.turns().length], [1, 0]);
  });
}

test('[ER1] a turn that was still sending its body when all accounts were replaced may come back, and finds the new ones', async () => {
  await using gate = await startGateway();
  await using elsewhere = await startUpstream({ accounts: ['east', 'west'] });
  for (const { path, body } of [
    { path: '/v1/responses', body: { model: 'model-a', input: 'hello' } },
    { path: '/v1/images/generations', body: { model: 'image-model', prompt: 'hello' } },
  ]) {
    using client = await RawClient.connect(gate.url);
    const request = postOf(path, body);
    const requests = gate.count('requests');
    client.write(request.slice(0, -10));
    await until('the turn to begin', () => (gate.count('requests') === requests + 1 ? true : undefined));
    await gate.reconfigure((draft) => {
      const id = draft.accounts[0].id === 'east' ? 'west' : 'east';
      draft.accounts = [{ id, base_url: elsewhere.urlOf(id), credential: { bearer: { env: `BEARER_${id.toUpperCase()}` } } }];
      draft.pools[0].assignments = [{ account: id }];
      draft.pools[0].image_host_model = 'model-a';
    });
    client.write(request.slice(-10));
    const { status, headers, json } = await client.answer();
    assert.deepEqual([status, json.error.code, headers['retry-after']], [503, 'no_eligible_account', '1']);
  }
  assert.equal((await gate.send('/v1/responses', { body: TURN })).status, 200);
});

test('a stop while a reload waits for a new rehearsal account ends in order', async () => {
  const gate = await startGateway();
  const reloading = gate.reconfigure((draft) => {
    draft.accounts.push({ id: 'stage', base_url: 'rehearsal:' });
    draft.timeouts.upstream_idle_ms = 100_000;
  });
  // An unhandled rejection would fail this file; in a gateway it would end the process before its rows are written.
  await Promise.all([gate.close(), reloading]);
});

test('a reload changes client_header_ms, like every other timeout', async () => {
  await using gate = await startGateway();
  await gate.reconfigure((draft) => {
    draft.timeouts.client_header_ms = 50;
  });
  using client = await RawClient.connect(gate.url);
  client.write('GET /v1/models HTTP/1.1\r\nhost: ');
  assert.equal((await client.answer()).status, 408);
});

test('keys, tokens and modes: a running gateway applies the commands, and a secret is shown once and not stored', async () => {
  await using program = await startProgram({ here: true });
  const served = (key: string) => program.status('/v1/models', { key });
  const becomes = (key: string, status: number) =>
    until(`the key to get ${status}`, async () => ((await served(key)) === status ? true : undefined));

  const made = await program.poolgate('key', 'create', 'robot', '--model', 'model-a');
  const secret = made.out.trim();
  assert.match(secret, /^pg-[\w-]{43}$/);
  await becomes(secret, 200);
  for (const [verb, status] of [
    ['pause', 401],
    ['resume', 200],
    ['revoke', 401],
  ] as const) {
    assert.equal((await program.poolgate('key', verb, 'robot')).code, 0);
    await becomes(secret, status);
  }
  const rotated = (await program.poolgate('key', 'rotate', 'ci')).out.trim();
  await becomes(rotated, 200);
  assert.equal(await served(KEY), 200);
  const token = (await program.poolgate('token', 'create', 'ops', '--owns', 'team')).out.trim();
  assert.match(token, /^pg-mcp-[\w-]{43}$/);

  assert.equal((await program.poolgate('mode', 'set', 'team', 'model-a', 'lite')).code, 0);
  await until('the mode to take effect', async () => {
    await program.status('/v1/responses', { body: TURN });
    return program.upstream.turns().at(-1)?.headers['x-internal-agent-responses-lite'] === 'true' ? true : undefined;
  });

  const status = (await program.poolgate('status', '--json')).out;
  const listed = (await program.poolgate('key', 'list', '--json')).out + (await program.poolgate('token', 'list', '--json')).out;
  const difference = (await program.poolgate('diff', '--json')).out;
  assert.equal(JSON.parse(difference).changes.length, 0);
  await program.stop();
  const everywhere = [readFileSync(program.path, 'utf8'), status, listed, difference, program.written];
  for (const known of [secret, rotated, token]) for (const text of everywhere) assert.ok(!text.includes(known));
});

test('a change that is saved while the program starts takes effect', async () => {
  await using program = await startProgram({ here: true });
  await program.stop();
  const running = program.run();
  // The moment between its first read of the file and its first watch is unknown, so the file is saved again and again until the gateway
  // serves.
  let saved = 0;
  let serves = false;
  void running.finally(() => {
    serves = true;
  });
  while (!serves) {
    program.replace((draft) => {
      draft.keys = [draft.keys[0]];
      withKey(`save-${++saved}`)(draft);
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await running;
  await opens(program, `save-${saved}`);
});
