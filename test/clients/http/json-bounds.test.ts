// JSON of clients: its depth and the number of its values are bounded before it is parsed, and a large body is parsed in parts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { parseBody } from '../../../proxy/clients/http/bodies/json-body.ts';
import { parseLargeBody } from '../../../proxy/clients/http/bodies/large-json-body.ts';
import type { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { excessOf, MAX_DEPTH } from '../../../proxy/turn/json/json-bounds.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';

const PADDING = ' '.repeat(70_000);
/** Large enough to be checked. */
const padded = (text: string): Buffer => Buffer.from(PADDING + text);

describe('[Q38] the number of values', () => {
  for (const [text, values] of [
    ['1', 1],
    ['{}', 1],
    ['[]', 1],
    ['[1,2,3]', 4],
    ['{"a":1,"b":[{},[],null]}', 6],
    ['{"a":"[,{,\\",{[,"}', 2],
    [`{"a":"${'[,{'.repeat(30)}","b":0}`, 3],
    [`{"a":"${'\\\\'.repeat(40)}","b":0}`, 3],
    [`{"a":"${'\\"'.repeat(40)},","b":0}`, 3],
    [`{"a":"${'x'.repeat(40)}\\\\\\",","b":0}`, 3],
  ] as const) {
    test(`of ${text.slice(0, 30)} is ${values}`, () => {
      assert.equal(excessOf(padded(text), values), undefined);
      assert.equal(excessOf(padded(text), values - 1), 'values');
    });
  }

  test('is not counted in a string that does not end', () => {
    assert.equal(excessOf(padded(`["${',['.repeat(1_000)}`), 2), undefined);
  });
});

test('[Q38] the depth is bounded before the body is parsed', () => {
  const deep = (depth: number): Buffer => padded('['.repeat(depth) + ']'.repeat(depth));
  assert.equal(excessOf(deep(MAX_DEPTH), 1_000_000), undefined);
  assert.equal(excessOf(deep(MAX_DEPTH + 1), 1_000_000), 'depth');
});

const refusalOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return 'none';
  } catch (thrown) {
    const { status, message } = thrown as Refusal;
    return `${status} ${message}`;
  }
};

/** Lists longer than a part, and groups of members larger than one. */
function largeBody(random: SeededRandom): string {
  const word = (): string => JSON.stringify(`w "${Math.floor(random.between(0, 1e9))}" \\ \n ☃`);
  const item = (): string => `{"type":"message","role":"user","content":[{"type":"input_text","text":${word()}},[],{}]}`;
  const list = (bytes: number): string => `[${Array.from({ length: bytes / 90 }, item).join(' , ')}]`;
  const members = [
    '"model":"a"',
    `"input":${list(2_500_000)}`,
    '"stream" : false',
    `"tools":${list(1_200_000)}`,
    '"empty":[]',
    '"none":{}',
  ];
  const many = Array.from({ length: 20_000 }, (_, i) => `"m${i}":${word()}`);
  return ` {${[...members, ...many, `"nested":{"a":${list(1_300_000)}}`, '"model":"b"'].join(',')}} \n`;
}

describe('[Q38] a large body, in parts,', () => {
  const options = { limits: { json_values: 1_000_000 }, counters: new Counters() };

  test('is the same as parsed at once', async () => {
    const text = largeBody(new SeededRandom(1));
    assert.deepEqual(await parseLargeBody(Buffer.from(text), options), JSON.parse(text));
    for (const small of ['{}', ' { } ', '{"a":1}', '{"a":[]}', '{"a":[1,[2]],"b":{"c":[1,2]}}']) {
      assert.deepEqual(await parseLargeBody(Buffer.from(small), options), JSON.parse(small));
    }
  });

  test('is refused where it is refused at once', async () => {
    const text = largeBody(new SeededRandom(2));
    const random = new SeededRandom(3);
    const bent = ['{', '}', '[', ']', ',', ':', '"', '\\', 'x', '\u0000'];
    for (let round = 0; round < 10; round++) {
      const at = Math.floor(random.between(0, text.length));
      const piece = bent[round % bent.length] as string;
      const bytes = Buffer.from(text.slice(0, at) + piece + text.slice(at + (round % 2)));
      const whole = await refusalOf(() => parseBody(bytes, options));
      assert.equal((await refusalOf(() => parseLargeBody(bytes, options))).slice(0, 3), whole.slice(0, 3), `${piece} at ${at}`);
    }
    const long = `[${'"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",'.repeat(40_000)}0]`;
    for (const odd of [
      '',
      ' ',
      '[]',
      '{',
      '}',
      '{}{}',
      '{},',
      '[{}]',
      '"a"',
      `{"a":${long},}`,
      `{,"a":${long}}`,
      `{"a":${long}"b":1}`,
      `{"a":${long}${long}}`,
      `{"a":${long.slice(0, -1)},]}`,
      `{"a":${long.slice(0, -1)}}}`,
      `{"a":${long},"__proto__":{}}`,
      `{"__proto__":${long}}`,
      `{"a":${long.slice(0, -2)}{"__proto__":1}]}`,
      `{"a":${long}}x`,
      `x{"a":${long}}`,
      `{${long}}`,
      `{"a":1,${long}}`,
      `${long}`,
      `{"a" ${long}}`,
    ]) {
      const bytes = Buffer.from(odd);
      const whole = await refusalOf(() => parseBody(bytes, options));
      assert.notEqual(whole, 'none', odd.slice(0, 40));
      assert.equal((await refusalOf(() => parseLargeBody(bytes, options))).slice(0, 3), whole.slice(0, 3), odd.slice(0, 40));
    }
  });

  test('with too many values is 413 and counted, and one that is too deep is 400', async () => {
    const counters = new Counters();
    const few = { limits: { json_values: 9 }, counters };
    for (const parse of [parseBody, parseLargeBody]) {
      assert.match(await refusalOf(() => parse(Buffer.from('{"a":[0,0,0,0,0,0,0,0,0]}'), few)), /^413 /);
    }
    assert.equal(counters.values.json_values_refused, 2);
    assert.match(await refusalOf(() => parseLargeBody(Buffer.from(`{"a":${'['.repeat(128)}${']'.repeat(128)}}`), options)), /^400 .*deep/);
  });

  test('leaves time for other work', async () => {
    let turns = 0;
    const count = setInterval(() => (turns += 1));
    await parseLargeBody(Buffer.from(largeBody(new SeededRandom(4))), options);
    clearInterval(count);
    assert.ok(turns > 2, `${turns} turns of the event loop`);
  });
});
