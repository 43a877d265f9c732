// Client bytes that have to be a JSON object: anything else gets 400, and reaches no account.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway();
  gate.upstream.clear();
});
after(() => gate.close());

const PATHS = ['/v1/responses', '/backend-api/agent/responses', '/backend-api/agent/v1/responses'];
const GOOD = JSON.stringify(turnBody('hello'));

const nested = (depth: number, open: string, close: string): string => `${open.repeat(depth)}1${close.repeat(depth)}`;
const inside = (json: string): string => `${GOOD.slice(0, -1)},"extra":${json}}`;
/** Puts the JSON into a member in which an account takes any names (RB8). */
const inMetadata = (json: string): string => `${GOOD.slice(0, -1)},"client_metadata":{"extra":${json}}}`;

const BAD: Readonly<Record<string, string | Uint8Array>> = {
  'nothing at all': '',
  blanks: ' \n ',
  'half an object': GOOD.slice(0, -1),
  'an object and more': `${GOOD}{}`,
  'a list': `[${GOOD}]`,
  'a string': '"model-a"',
  'a number': '1',
  null: 'null',
  'single quotes': "{'model':'model-a'}",
  'a comment': `/* */${GOOD}`,
  'a trailing comma': `${GOOD.slice(0, -1)},}`,
  NaN: inside('NaN'),
  'a form': 'model=model-a&input=hello',
  'a byte order mark': Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(GOOD)]),
  'UTF-16': Buffer.from(GOOD, 'utf16le'),
  'invalid UTF-8 in a string': Buffer.from(inside('"\xff\xfe"'), 'latin1'),
  'half a surrogate in UTF-8': Buffer.concat([Buffer.from(GOOD.slice(0, -1)), Buffer.from(',"a":"\xed\xa0\x80"}', 'latin1')]),
  'an overlong slash': Buffer.concat([Buffer.from(GOOD.slice(0, -1)), Buffer.from(',"a":"\xc0\xaf"}', 'latin1')]),
  '__proto__ on top': inside('1').replace('"extra"', '"__proto__"'),
  '__proto__ with an object': inside('{"__proto__":{"stream":false}}'),
  '__proto__ deep in lists': inside('[[{"a":[{"__proto__":null}]}]]'),
  '__proto__ by escapes': inside('{"\\u005f_proto__":{}}'),
  'constructor.prototype': inside('{"constructor":{"prototype":{"stream":false}}}'),
  'lists past all depth': inside(nested(200, '[', ']')),
  'objects past all depth': inside(nested(200, '{"a":', '}')),
  'a hundred thousand lists': inside(nested(100_000, '[', ']')),
  'a hundred thousand objects': inside(nested(100_000, '{"a":', '}')),
  'a hundred thousand open lists': '['.repeat(100_000),
};

for (const [what, body] of Object.entries(BAD)) {
  test(`${what} is 400 on every route that takes JSON, with a message that repeats none of it`, async () => {
    for (const path of PATHS) {
      const { status, json } = await gate.send(path, { body });
      assert.equal(status, 400);
      assert.equal(json.error.code, 'invalid_request');
      assert.match(json.error.message, /^The request body /);
      assert.ok(!json.error.message.includes('model-a'));
    }
    assert.equal(gate.upstream.requests().length, 0);
  });
}

const TAKEN: Readonly<Record<string, string>> = {
  'a member called constructor': inMetadata('{"constructor":"text"}'),
  'a member called prototype': inMetadata('{"prototype":{"a":1}}'),
  'depth like that of real schemas': inMetadata(nested(60, '{"a":', '}')),
  'half a surrogate by escapes': inMetadata('"\\ud800"'),
  blanks: ` \r\n\t${GOOD}\n`,
  'a member twice': inMetadata('1,"extra":2'),
};

for (const [what, body] of Object.entries(TAKEN)) {
  test(`${what} is accepted`, async () => {
    gate.upstream.clear();
    const { status } = await gate.send('/backend-api/agent/responses', { body });
    assert.equal(status, 200);
    assert.deepEqual(gate.upstream.turns()[0]?.json, JSON.parse(body));
  });
}

const TYPES: readonly (readonly [string | undefined, number])[] = [
  [undefined, 200],
  ['application/json', 200],
  ['Application/JSON; charset=utf-8', 200],
  ['application/vnd.api+json', 200],
  ['text/plain', 415],
  ['text/json', 415],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=a', 415],
  ['application/jsonl', 415],
  ['application/sdp', 415],
  ['json', 415],
];

for (const [type, expected] of TYPES) {
  test(`the Content-Type ${type ?? 'that is missing'} is ${expected === 200 ? 'taken as JSON' : '415'}`, async () => {
    gate.upstream.clear();
    // The body is sent as bytes, so fetch adds no type.
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
    const response = await fetch(`${gate.url}/backend-api/agent/responses`, {
      method: 'POST',
      headers: { authorization: 'Bearer pg-test-key', ...headers },
      body: Buffer.from(GOOD),
    });
    const text = await response.text();
    assert.equal(response.status, expected);
    if (expected === 415) assert.equal(JSON.parse(text).error.code, 'unsupported_media_type');
    assert.equal(gate.upstream.turns().length, expected === 200 ? 1 : 0);
  });
}
