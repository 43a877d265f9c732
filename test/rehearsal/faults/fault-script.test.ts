// The grammar of the fault script, and scripts inside requests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readScript } from '../../../proxy/rehearsal/faults/fault-script.ts';
import { ScriptError } from '../../../proxy/rehearsal/faults/script-words.ts';
import { startGateway } from '../../support/gateway.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { ask, at, eventsOf, raw } from '../../support/rehearsal-client.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const understood: readonly (readonly [script: string, faults: unknown])[] = [
  ['refuse 503', [{ kind: 'refuse', status: 503 }]],
  [
    'Refuse 429 usage_limit_reached retry 3 resets 60',
    [{ kind: 'refuse', status: 429, code: 'usage_limit_reached', retryAfter: 3, resetsIn: 60 }],
  ],
  ['refuse 429 retry 3', [{ kind: 'refuse', status: 429, retryAfter: 3 }]],
  ['refuse inside', [{ kind: 'refuse-inside', as: 'response.failed' }]],
  [
    'refuse inside context_length_exceeded as error after 1 event',
    [{ kind: 'refuse-inside', as: 'error', code: 'context_length_exceeded', after: 1 }],
  ],
  ['refuse inside as failed', [{ kind: 'refuse-inside', as: 'response.failed' }]],
  ['cut after 3 events', [{ kind: 'cut', at: { events: 3 }, how: 'close' }]],
  ['reset before headers', [{ kind: 'cut', at: 'before-headers', how: 'reset' }]],
  ['stall after headers', [{ kind: 'stall', at: 'after-headers' }]],
  ['stall after 10 bytes for 250 ms', [{ kind: 'stall', at: { bytes: 10 }, ms: 250 }]],
  ['malformed event', [{ kind: 'malformed' }]],
  ['malformed event 5', [{ kind: 'malformed', event: 5 }]],
  ['compaction missing', [{ kind: 'compaction', is: 'missing' }]],
  ['south: compaction twice; north: compaction unsealed', [{ kind: 'compaction', is: 'unsealed' }]],
  ['empty output + no terminal', [{ kind: 'empty-output' }, { kind: 'no-terminal' }]],
  [
    'cr framing+crlf framing',
    [
      { kind: 'framing', newline: 'cr' },
      { kind: 'framing', newline: 'crlf' },
    ],
  ],
  ['drip', [{ kind: 'drip', bytes: 1 }]],
  ['drip 4 bytes every 5 ms', [{ kind: 'drip', bytes: 4, ms: 5 }]],
  ['pace 20', [{ kind: 'pace', ms: 20 }]],
  ['malformed event 5 as array', [{ kind: 'malformed', event: 5, as: 'array' }]],
  ['no preamble', [{ kind: 'no-preamble' }]],
  ['close 1011', [{ kind: 'close', code: 1011 }]],
  ['close 4000 after 2 events', [{ kind: 'close', code: 4000, after: 2 }]],
  ['half open', [{ kind: 'half-open' }]],
  ['half open after 1 event', [{ kind: 'half-open', after: 1 }]],
  ['connection limit + anchor lost', [{ kind: 'connection-limit' }, { kind: 'anchor-lost' }]],
  ['frame too large', [{ kind: 'frame-too-large' }]],
  ['binary frame', [{ kind: 'binary-frame' }]],
  ['binary frame 4', [{ kind: 'binary-frame', event: 4 }]],
  ['refuse upgrade 426', [{ kind: 'refuse-upgrade', status: 426 }]],
  ['refuse upgrade 429 usage_limit_reached retry 3', [{ kind: 'refuse-upgrade', status: 429, code: 'usage_limit_reached', retryAfter: 3 }]],
  ['stall upgrade', [{ kind: 'stall-upgrade' }]],
  ['stall upgrade for 20 ms', [{ kind: 'stall-upgrade', ms: 20 }]],
  ['reset upgrade', [{ kind: 'reset-upgrade' }]],
  ['refuse 429 retry ms 250', [{ kind: 'refuse', status: 429, retryAfterMs: 250 }]],
  [
    'no done + stop with calls + comments',
    [
      { kind: 'form', is: 'no done' },
      { kind: 'form', is: 'stop with calls' },
      { kind: 'stream', is: 'comments' },
    ],
  ],
  [
    'finish eos + reasoning as details',
    [
      { kind: 'finish', reason: 'eos' },
      { kind: 'reasoning', as: 'details' },
    ],
  ],
  ['error chunk', [{ kind: 'error-chunk', as: 'chunk' }]],
  ['error chunk 429 as choice after 2 events', [{ kind: 'error-chunk', as: 'choice', code: 429, after: 2 }]],
  ['error chunk context_length_exceeded as event', [{ kind: 'error-chunk', as: 'event', code: 'context_length_exceeded' }]],
  ['html', [{ kind: 'html', status: 200 }]],
  ['html 502', [{ kind: 'html', status: 502 }]],
  ['loading', [{ kind: 'loading' }]],
  ['rate tokens -1 of 10 reset 6m0s', [{ kind: 'rate', of: 'tokens', remaining: -1, limit: 10, reset: '6m0s' }]],
  ['rate requests 0 of 10', [{ kind: 'rate', of: 'requests', remaining: 0, limit: 10 }]],
  ['slow first byte 20 ms with comments', [{ kind: 'slow-first-byte', ms: 20, comments: true }]],
  ['without response.created', [{ kind: 'without', type: 'response.created' }]],
  ['steady', []],
  ['', undefined],
  ['south: refuse 503', undefined],
  ['south: refuse 503; north: pace 1', [{ kind: 'pace', ms: 1 }]],
  ['pace 2; north: pace 1;', [{ kind: 'pace', ms: 1 }]],
  ['pace 2; south: pace 1', [{ kind: 'pace', ms: 2 }]],
];

for (const [script, faults] of understood) {
  test(`the script "${script}" is read`, () => assert.deepEqual(readScript(script, 'north'), faults));
}

const refused = [
  'explode',
  'refuse',
  'refuse 200',
  'refuse 503 !',
  'cut',
  'cut after 3',
  'cut after x events',
  'stall after headers for',
  'drip 0 bytes',
  'malformed',
  'compaction',
  'compaction late',
  'pace',
  'steady now',
  'cr',
  'close',
  'close 1006',
  'close 200',
  'half',
  'frame',
  'refuse upgrade',
  'refuse upgrade 200',
  'cut upgrade',
  'south: explode',
  'toString',
];

for (const script of refused) {
  test(`the script "${script}" is a syntax error`, () => assert.throws(() => readScript(script, 'north'), ScriptError));
}

test('a client of the gateway learns which fault of its script is wrong', async () => {
  await using gate = await startGateway();
  for (const [script, fault] of [
    ['refuse 502; stall after everything else', '"stall"'],
    ['steady; explode-in-the-middle now', '"explode-in-"'],
  ] as const) {
    const { status, json } = await gate.send('/v1/responses', { body: { model: 'model-a', input: `rehearse: ${script}` } });
    const message = `Clause 2 of the rehearsal script is wrong: there is no fault ${fault}, or it takes other words.`;
    assert.deepEqual([status, json.error.message], [400, message]);
  }
});

test('a request can have its own script, and the script can name the account', async () => {
  await using upstream = await startUpstream();
  const body = (rehearse: string) => turnBody('hello', { metadata: { rehearse } });
  const [north, south] = [upstream.urlOf('north'), upstream.urlOf('south')];
  assert.equal((await ask(north, body('refuse 502'))).status, 502);
  assert.equal((await ask(north, body('north: refuse 502; south: cut after 1 event'))).status, 502);
  assert.equal(eventsOf((await raw(south, body('north: refuse 502; south: cut after 1 event'))).text).length, 1);
  assert.equal((await ask(south, body('north: refuse 502'))).status, 200);
  const wrong = await ask(north, body('explode'));
  assert.deepEqual(
    [wrong.status, at(wrong.json, 'error', 'code'), at(wrong.json, 'error', 'param')],
    [400, 'invalid_rehearsal', 'metadata.rehearse'],
  );
});
