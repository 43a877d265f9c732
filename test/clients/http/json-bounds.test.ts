// JSON of clients: its depth and the number of its values are checked before it is parsed, and a large body is parsed in parts.
import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { describe, test } from 'node:test';
import { BodyMemory } from '../../../proxy/base/bytes/body-memory.ts';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { type JsonMemory, parseBody, parseLargeBody } from '../../../proxy/clients/http/bodies/json-body.ts';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { isObject, type Json } from '../../../proxy/turn/json/json.ts';
import { excessOf, MAX_DEPTH, scanOf } from '../../../proxy/turn/json/json-bounds.ts';
import { LARGE, parseLargeJson } from '../../../proxy/turn/json/large-json.ts';
import type { Limits } from '../../../proxy/turn/settings.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { ALL_CASES } from '../../support/sample.ts';
import { liveTurnOf } from '../../support/turns/live-turn.ts';

const PADDING = ' '.repeat(70_000);
/** Makes the text large enough to be checked. */
const padded = (text: string): Buffer => Buffer.from(PADDING + text);

describe('[Q38] the number of values, where a list or an object counts as four,', () => {
  for (const [text, values] of [
    ['1', 1],
    ['{}', 4],
    ['[]', 4],
    ['[1,2,3]', 7],
    ['{"a":1,"b":[{},[],null]}', 18],
    ['{"a":"[,{,\\",{[,"}', 5],
    [`{"a":"${'[,{'.repeat(30)}","b":0}`, 6],
    [`{"a":"${'\\\\'.repeat(40)}","b":0}`, 6],
    [`{"a":"${'\\"'.repeat(40)},","b":0}`, 6],
    [`{"a":"${'x'.repeat(40)}\\\\\\",","b":0}`, 6],
  ] as const) {
    test(`of ${text.slice(0, 30)} is ${values}`, () => {
      assert.equal(excessOf(padded(text), values), undefined);
      assert.equal(excessOf(padded(text), values - 1), 'values');
    });
  }

  test('is not counted in a string that does not end', () => {
    assert.equal(excessOf(padded(`["${',['.repeat(1_000)}`), 5), undefined);
  });
});

test('[Q38] the depth is bounded before the body is parsed', () => {
  const deep = (depth: number): Buffer => padded('['.repeat(depth) + ']'.repeat(depth));
  assert.equal(excessOf(deep(MAX_DEPTH), 1_000_000), undefined);
  assert.equal(excessOf(deep(MAX_DEPTH + 1), 1_000_000), 'depth');
});

/** The memory accounts of one key. */
const memory = (limits: Partial<Limits> = {}): JsonMemory & { readonly bodies: BodyMemory } => {
  const bodies = new BodyMemory();
  const settings = liveTurnOf().turn.limits;
  return { limits: { ...settings, ...limits }, counters: new Counters(), share: bodies.of('ci'), bodies };
};

const refusalOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return 'none';
  } catch (thrown) {
    const { status, message } = thrown as Refusal;
    return `${status} ${message}`;
  }
};

const isValid = (bytes: Buffer): boolean => {
  try {
    JSON.parse(bytes.toString());
    return isUtf8(bytes);
  } catch {
    return false;
  }
};

/** A body with lists longer than a part, and groups of members larger than one. */
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
  const options = memory({ json_values: 3_000_000 });

  test('[Q38] dense JSON is scanned only until it is known to be parsed in parts', () => {
    const scan = scanOf(Buffer.from(`[${'{},'.repeat(240_000)}0]`), 1_000_000, LARGE.values);
    assert.ok(typeof scan === 'object' && scan.values >= LARGE.values && scan.at <= 2 * 65_536, JSON.stringify(scan));
  });

  test('is the same as parsed at once', async () => {
    const text = largeBody(new SeededRandom(1));
    const { body, release } = await parseLargeBody(Buffer.from(text), options);
    assert.deepEqual(body, JSON.parse(text));
    release?.();
    for (const small of ['{}', ' { } ', '{"a":1}', '{"a":[]}', '{"a":[1,[2]],"b":{"c":[1,2]}}']) {
      const parsed = await parseLargeBody(Buffer.from(small), options);
      assert.deepEqual(parsed.body, JSON.parse(small));
      parsed.release?.();
    }
    assert.deepEqual([options.bodies.held, options.bodies.dense.held], [0, 0]);
  });

  test('is refused where it is refused at once', async () => {
    const text = largeBody(new SeededRandom(2));
    const random = new SeededRandom(3);
    const bent = ['{', '}', '[', ']', ',', ':', '"', '\\', 'x', '\u0000'];
    for (let round = 0; round < (ALL_CASES ? 10 : 3); round++) {
      const at = Math.floor(random.between(0, text.length));
      const piece = bent[round % bent.length] as string;
      const bytes = Buffer.from(text.slice(0, at) + piece + text.slice(at + (round % 2)));
      const whole = isValid(bytes) ? 'none' : '400';
      assert.equal((await refusalOf(() => parseLargeBody(bytes, options))).slice(0, whole.length), whole, `${piece} at ${at}`);
    }
    const long = `[${'"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",'.repeat(10_000)}0]`;
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
      assert.match(await refusalOf(() => parseLargeBody(bytes, options)), /^400/, odd.slice(0, 40));
    }
  });

  test('with too many values is 413 and counted, and one that is too deep is 400', async () => {
    const few = memory({ json_values: 9 });
    for (const parse of [parseBody, parseLargeBody]) {
      assert.match(await refusalOf(() => parse(Buffer.from('{"a":[0,0,0,0,0,0,0,0,0]}'), few)), /^413 /);
    }
    assert.equal(few.counters.values.json_values_refused, 2);
    assert.match(await refusalOf(() => parseLargeBody(Buffer.from(`{"a":${'['.repeat(128)}${']'.repeat(128)}}`), options)), /^400 .*deep/);
  });

  // Slices have a length in time, so a fast machine needs fewer of them, but never as few as this.
  const names = Array.from({ length: 300_000 }, (_, i) => `"${i.toString(36)}":1`).join(',');
  for (const [what, text, least] of [
    ['long lists', largeBody(new SeededRandom(4)), 4],
    ['one string', `{"a":[{"b":"${'a'.repeat(20_000_000)}"}]}`, 6],
    ['one string of escapes', `{"a":[{"b":"${'\\"'.repeat(4_000_000)}"}]}`, 4],
    ['distinct names', `{"a":{"b":{${names}}}}`, 6],
    ['white space', `{"a":1${' '.repeat(20_000_000)}}`, 6],
  ] as const) {
    test(`leaves time for other work: ${what}`, async () => {
      const { share, ...rest } = options;
      let [turns, isOver] = [0, false];
      const count = (): void => {
        turns += 1;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      const { body } = await parseLargeBody(Buffer.from(text), { ...rest, share });
      isOver = true;
      assert.ok(turns >= least, `${turns} turns of the event loop`);
      assert.equal(JSON.stringify(body), JSON.stringify(JSON.parse(text)));
    });
  }
});

const STRINGS = ['', 'a', '\\n\\"\\\\', 'é☃😀', '\\u0061\\ud83d\\ude00', 'a "quoted" [word], {and} more'.replaceAll('"', '\\"')] as const;

/** A text of JSON with white space anywhere, and names that repeat. */
function textIn(random: SeededRandom, depth: number): string {
  const space = random.next() < 0.2 ? ' \n' : '';
  const many = Math.floor(random.between(0, 6));
  const each = (text: () => string): string => Array.from({ length: many }, text).join(`${space},${space}`);
  const kind = depth === 0 ? random.between(0, 2) : random.between(0, 5);
  if (kind < 1) return String(Math.floor(random.between(-5, 1_000)));
  if (kind < 2) return `"${(STRINGS[Math.floor(random.between(0, STRINGS.length))] as string).repeat(Math.floor(random.between(1, 4)))}"`;
  if (kind < 3.5) return `[${space}${each(() => textIn(random, depth - 1))}${space}]`;
  return `{${space}${each(() => `"${'abc'.slice(Math.floor(random.between(0, 3)))}"${space}:${space}${textIn(random, depth - 1)}`)}${space}}`;
}

describe('[Q38] JSON in the smallest parts', () => {
  const options = { key: 'ci', maxValues: 1_000_000, signal: new AbortController().signal };
  const read = async (text: string, random: SeededRandom): Promise<Json | undefined> => {
    const part = { bytes: Math.floor(random.between(4, 40)), values: Math.floor(random.between(1, 9)) };
    return parseLargeJson(Buffer.from(text), { ...options, part }).catch(({ message }: Error) =>
      message.includes('too long') ? 'a name as long as a part' : undefined,
    );
  };
  const atOnce = (text: string): Json | undefined => {
    try {
      const json = JSON.parse(text) as Json;
      return isObject(json) ? json : undefined;
    } catch {
      return undefined;
    }
  };

  test('is what it is at once', async () => {
    const random = new SeededRandom(5);
    for (let round = 0; round < (ALL_CASES ? 3_000 : 400); round++) {
      const text = `{"a":${textIn(random, 5)},"b":${textIn(random, 5)}}`;
      assert.equal(JSON.stringify(await read(text, random)), JSON.stringify(atOnce(text)), text);
    }
  });

  test('is refused where it is refused at once', async () => {
    const random = new SeededRandom(6);
    const bent = ['{', '}', '[', ']', ',', ':', '"', '\\', 'x', '0', ' ', '[]', '{}', ',1', '"a":1'];
    for (let round = 0; round < (ALL_CASES ? 5_000 : 600); round++) {
      const text = `{"a":${textIn(random, 4)},"b":${textIn(random, 4)}}`;
      const at = Math.floor(random.between(0, text.length + 1));
      const piece = bent[Math.floor(random.between(0, bent.length))] as string;
      const bytes = Buffer.from(text.slice(0, at) + piece + text.slice(at + Math.floor(random.between(0, 3))));
      // A character may have lost one of its two halves.
      const changed = bytes.toString();
      const json = await read(changed, random);
      if (typeof json !== 'string') assert.equal(JSON.stringify(json), JSON.stringify(atOnce(changed)), changed);
    }
  });
});

test('[Q38] keys take turns with their large bodies', async () => {
  const order: string[] = [];
  const bodies = new BodyMemory();
  const { limits } = liveTurnOf().turn;
  const large = Buffer.from(`{"a":"${'a'.repeat(3_000_000)}"}`);
  const parse = async (key: string): Promise<void> => {
    await parseLargeBody(large, { limits, counters: new Counters(), share: bodies.of(key) });
    order.push(key);
  };
  await Promise.all(['many', 'many', 'many', 'many', 'one', 'other'].map(parse));
  assert.deepEqual(order, ['many', 'many', 'one', 'other', 'many', 'many']);
});

test('[Q38] a large body that waits gives way to a body of a key that holds less', async () => {
  const bodies = new BodyMemory();
  const limits = { ...liveTurnOf().turn.limits, bodies_in_memory_bytes: 10_000_000 };
  const counters = new Counters();
  const large = Buffer.from(`{"a":"${'a'.repeat(4_000_000)}"}`);
  const parsing = [1, 2].map(() => refusalOf(() => parseLargeBody(large, { limits, counters, share: bodies.of('many') })));
  assert.ok(bodies.of('one').body().take(3_000_000, limits.bodies_in_memory_bytes));
  const answers = await Promise.all(parsing);
  assert.deepEqual(answers.map((answer) => answer.slice(0, 4)).sort(), ['503 ', 'none']);
  assert.deepEqual([counters.values.bodies_displaced, bodies.held], [1, 3_000_000]);
});

test('[Q38] a large body whose client leaves is not parsed', async () => {
  const options = memory();
  const left = new AbortController();
  const large = Buffer.from(`{"a":"${'a'.repeat(4_000_000)}"}`);
  const parsing = [1, 2].map(() => refusalOf(() => parseLargeBody(large, options, left.signal)));
  left.abort(new Refusal('invalid_request'));
  assert.deepEqual(
    (await Promise.all(parsing)).map((answer) => answer.slice(0, 3)),
    ['400', '400'],
  );
  assert.equal(options.bodies.held, 0);
});

describe('[Q38] dense JSON', () => {
  const dense = (values: number): Buffer => Buffer.from(`{"a":[${'{},'.repeat(values)}0]}`);

  test('counts as memory until its turn has ended, and is 503 beyond limits.dense_json_bytes', async () => {
    const options = memory({ dense_json_bytes: 40_000_000 });
    for (const values of [30_000, 100_000]) {
      const parsed = parseBody(dense(values), options) ?? (await parseLargeBody(dense(values), options));
      assert.ok(options.bodies.dense.held > 100 * values, `${options.bodies.dense.held} bytes for ${values} values`);
      parsed.release?.();
      assert.equal(options.bodies.dense.held, 0);
    }
    assert.match(await refusalOf(() => parseLargeBody(dense(200_000), options)), /^503/);
    assert.deepEqual([options.counters.values.dense_json_refused, options.bodies.dense.held, options.bodies.held], [1, 0, 0]);
  });

  test('of one key leaves half of the memory to other keys', async () => {
    const { bodies, ...options } = memory({ dense_json_bytes: 40_000_000 });
    await parseLargeBody(dense(80_000), options);
    assert.match(await refusalOf(() => parseLargeBody(dense(80_000), options)), /^503/);
    await parseLargeBody(dense(80_000), { ...options, share: bodies.of('other') });
  });

  test('is not what clients send: texts count nothing', () => {
    for (const json of [
      {
        input: Array.from({ length: 2_000 }, () => ({
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: 'The tests pass now.' }],
        })),
      },
      { input: Array.from({ length: 30_000 }, (_, i) => `word ${i} of many`) },
    ]) {
      assert.equal(parseBody(Buffer.from(JSON.stringify(json)), memory())?.release, undefined);
    }
  });
});
