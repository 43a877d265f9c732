// Recordings of real clients, replayed through a gateway: every difference from the direct conversation is one that the contract demands.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Exchange, type Fixture, readFixture } from '../../proxy/recording/fixture.ts';
import { type ReplayedDifference, replay } from '../../proxy/replay/replay.ts';
import { poolgate } from '../cli/run.ts';
import { fileWith } from '../config/files.ts';

const FOLDER = new URL('../fixtures/recordings/', import.meta.url);
const pathOf = (name: string): string => new URL(name, FOLDER).pathname;

const unexpected = ({ differences }: { readonly differences: readonly ReplayedDifference[] }): readonly ReplayedDifference[] =>
  differences.filter(({ clause }) => clause === undefined);

for (const name of readdirSync(FOLDER)) {
  test(`the recording ${name} has no unexpected difference`, async () => {
    const report = await replay(await readFixture(pathOf(name)));
    assert.deepEqual(unexpected(report), []);
    assert.ok(report.exchanges > 0);
    assert.ok(report.differences.length > 0, 'the gateway sets its own credential and ids');
  });
}

/** Reads a recording and edits its exchanges. */
async function edited(name: string, edit: (exchange: Exchange, index: number) => Exchange): Promise<Fixture> {
  const fixture = await readFixture(pathOf(name));
  return { ...fixture, exchanges: fixture.exchanges.map(edit) };
}

const places = (report: { readonly differences: readonly ReplayedDifference[] }): readonly string[] =>
  unexpected(report).map(({ side, place, kind }) => `${side} ${place} ${kind}`);

test('a request that the gateway refuses is an unexpected difference', async () => {
  const fixture = await edited('codex-http-tool.json', (exchange) => ({
    ...exchange,
    request: { ...exchange.request, path: exchange.request.path.replace('responses', 'remote') },
  }));
  const found = places(await replay(fixture));
  assert.ok(found.includes('request request removed'), found.join('\n'));
  assert.ok(found.includes('answer status changed'));
});

test('a tool type that the compatible surface refuses is an unexpected difference', async () => {
  const fixture = await edited('openai-responses.json', (exchange) => {
    const json = exchange.request.body?.json;
    if (json === null || typeof json !== 'object' || !('tools' in json)) return exchange;
    return { ...exchange, request: { ...exchange.request, body: { bytes: 1, json: { ...json, tools: [{ type: 'mcp', name: 'a' }] } } } };
  });
  assert.ok(places(await replay(fixture)).includes('answer status changed'));
});

test('an account that breaks off a reply is played as recorded, and the client sees a cut', async () => {
  const fixture = await edited('codex-http-tool.json', (exchange) => {
    const events = exchange.answer?.body?.events;
    if (!exchange.answer?.body || !events) return exchange;
    return { ...exchange, answer: { ...exchange.answer, body: { ...exchange.answer.body, events: events.slice(0, 8) } }, end: 'cut' };
  });
  assert.deepEqual(places(await replay(fixture)), []);
});

test('replay prints the differences and ends with 1 for an unexpected one', async (context) => {
  const good = await poolgate(['replay', pathOf('codex-websocket-tool.json')]);
  assert.deepEqual([good.code, good.err], [0, '']);
  assert.match(good.out, /: \d+ exchanges, 0 unexpected and \d+ intended differences\n$/);
  const all = await poolgate(['replay', '--all', pathOf('codex-websocket-tool.json')]);
  assert.match(all.out, /header authorization changed.*\[Q9\]/);
  const broken = JSON.parse(readFileSync(pathOf('codex-http-tool.json'), 'utf8').replaceAll('/codex/responses', '/codex/remote'));
  const { code, out } = await poolgate(['replay', fileWith(context, JSON.stringify(broken))]);
  assert.equal(code, 1);
  assert.match(out, /status changed: 200 -> 404/);
});

test('replay refuses files that are no recordings, and other versions', async (context) => {
  for (const [text, message] of [
    ['{}', / is not a recording of poolgate/],
    ['{"format":"poolgate-recording","version":99}', /has version 99 of the format; this program reads version 1/],
    ['{"format":"poolgate-recording","version":1}', /has no list of exchanges/],
    ['', / is not a recording of poolgate/],
  ] as const) {
    const { code, err } = await poolgate(['replay', fileWith(context, text)]);
    assert.equal(code, 1);
    assert.match(err, message);
  }
  assert.match((await poolgate(['replay', '/nowhere/recording.json'])).err, /cannot be read: ENOENT/);
});

test('record refuses an account over plain http on another machine, and a port that is none', async () => {
  const plain = await poolgate(['record', '--to', 'http://provider.example', '--out', '/tmp/none.json']);
  assert.deepEqual([plain.code, plain.err], [2, '--to needs an https address, or an http address of this machine\n']);
  const port = await poolgate(['record', '--to', 'https://provider.example', '--out', '/tmp/none.json', '--port', '70000']);
  assert.deepEqual([port.code, port.err], [2, '--port 70000 is no port\n']);
});
