// The operator log: metadata only, also of unforeseen errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyMemory } from '../../proxy/base/bytes/body-memory.ts';
import { Log, placeOf } from '../../proxy/base/process/log.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { parseBody } from '../../proxy/clients/http/bodies/json-body.ts';
import { liveTurnOf } from '../support/turns/live-turn.ts';

test('an error is logged with its class, its code and its place, and never with its message', () => {
  const error = Object.assign(new TypeError('canary\n    at canary (/proxy/canary.ts:1:1)'), { code: 'ERR_SOMETHING' });
  error.stack = `${error.stack?.split('\n').slice(0, 2).join('\n')}\n    at LiveTurn.end (file:///opt/poolgate/proxy/turn/live-turn.ts:120:13)`;
  assert.deepEqual(placeOf(error), { thrown: 'TypeError', code: 'ERR_SOMETHING', place: 'proxy/turn/live-turn.ts:120' });
});

test('an error is located in an installation below a folder of the same name', () => {
  const error = new Error('canary');
  error.stack = 'Error: canary\n    at run (file:///srv/store/poolgate/rules/index.ts:7:1)';
  assert.equal(placeOf(error).place, 'rules/index.ts:7');
  error.stack = 'Error: canary\n    at run (/srv/poolgate/node_modules/ws/lib/proxy/x.js:9:1)';
  assert.equal(placeOf(error).place, 'node_modules/ws/lib/proxy/x.js:9');
});

test('an error of our own code is found in it', () => {
  try {
    parseBody('canary' as unknown as Buffer, { limits: liveTurnOf().turn.limits, counters: new Counters(), share: new BodyMemory().of() });
    assert.fail('it is no buffer');
  } catch (thrown) {
    const told = placeOf(thrown);
    assert.match(String(told.place), /^proxy\/clients\/http\/bodies\/json-body\.ts:\d+$/);
    assert.ok(!JSON.stringify(told).includes('canary'));
  }
});

test('a thrown value that is not an Error is logged only with its type', () => {
  assert.deepEqual(placeOf('canary'), { thrown: 'string' });
  assert.deepEqual(placeOf(undefined), { thrown: 'undefined' });
  assert.deepEqual(placeOf(Object.assign(new Error('canary'), { stack: 7 as unknown as string })), {
    thrown: 'Error',
    code: undefined,
    place: undefined,
  });
});

test('a line is one line of JSON, and lines below the level are not written', () => {
  const lines: string[] = [];
  const log = new Log('warn', (line) => lines.push(line));
  log.info('quiet');
  log.warn('loud', { text: 'a\nb', number: 1, nothing: null });
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /^[^\n]*\n$/);
  const { at, ...rest } = JSON.parse(lines[0] ?? '');
  assert.deepEqual(rest, { level: 'warn', event: 'loud', text: 'a\nb', number: 1, nothing: null });
  assert.ok(!Number.isNaN(Date.parse(at)));
});
