// The reader of multipart forms takes parts of any order and content, and refuses every malformed body without a hang or a crash.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { boundaryOf } from '../../../../proxy/clients/http/bodies/form-parser.ts';
import { MAX_FIELD_BYTES, MAX_PARTS, parseForm } from '../../../../proxy/clients/http/bodies/multipart-form.ts';
import { Refusal } from '../../../../proxy/turn/errors/refusal.ts';
import type { FormPart } from '../../../../proxy/turn/json/form.ts';
import { isForm } from '../../../../proxy/turn/json/media-type.ts';
import { SeededRandom } from '../../../simulation/seeded-random.ts';
import { BOUNDARY, FORM_TYPE, formOf, headOfPart, type Part } from '../../../support/form.ts';

const counters = new Counters();
const parse = (bytes: Buffer | string): Promise<readonly FormPart[]> => parseForm(Buffer.from(bytes as string), BOUNDARY, counters);

const refusedAs =
  (code: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, /^[\w ,.:/`-]+$/, 'no text of the client');
    return true;
  };

const pixels = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 256));
const PARTS: readonly Part[] = [
  { name: 'model', value: 'gpt-image-1' },
  { name: 'image[]', value: pixels, filename: 'a.png', type: 'image/png' },
  { name: 'prompt', value: 'a häuschen\r\n--not a delimiter' },
  { name: 'image[]', value: Buffer.alloc(0), filename: 'b.png', type: 'image/png' },
  { name: 'mask', value: Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}`), filename: '../dir/m.png', type: 'image/png' },
  { name: 'n', value: '1' },
];

test('fields and files come in the order in which they were sent, byte for byte', async () => {
  const parts = await parse(formOf(PARTS));
  assert.deepEqual(
    parts.map((part) => (part.kind === 'field' ? [part.name, part.value] : [part.name, part.filename, part.mediaType, part.bytes])),
    [
      ['model', 'gpt-image-1'],
      ['image[]', 'a.png', 'image/png', pixels],
      ['prompt', 'a häuschen\r\n--not a delimiter'],
      ['image[]', 'b.png', 'image/png', Buffer.alloc(0)],
      ['mask', 'm.png', 'image/png', PARTS[4]?.value],
      ['n', '1'],
    ],
  );
});

test('a large file is parsed in slices, wherever these are cut', async () => {
  const large = Buffer.alloc(3_000_001, `x\r\n--${BOUNDARY.slice(0, 10)}`);
  const [file, field] = await parse(
    formOf([
      { name: 'file', value: large, filename: 'f' },
      { name: 'purpose', value: 'vision' },
    ]),
  );
  assert.ok(file?.kind === 'file' && file.bytes.equals(large));
  assert.deepEqual(field, { kind: 'field', name: 'purpose', value: 'vision' });
});

test('a preamble, an epilogue, additional headers and a form without a final line end are accepted', async () => {
  const body = formOf([{ name: 'a', value: '1' }]).toString();
  for (const text of [`preamble\r\n${body}`, `${body}epilogue`, body.trimEnd(), body.replace('\r\n\r\n1', '\r\nX-Spare: 1\r\n\r\n1')]) {
    assert.deepEqual(await parse(text), [{ kind: 'field', name: 'a', value: '1' }]);
  }
});

test('a form that is cut at any byte is refused as invalid_request', async () => {
  const whole = formOf([
    { name: 'prompt', value: 'a cat' },
    { name: 'image', value: Buffer.from([1, 2, 3, 13, 10, 45]), filename: 'i.png', type: 'image/png' },
    { name: 'mask', value: Buffer.from([4]), filename: 'm.png' },
  ]);
  const closing = whole.lastIndexOf('--');
  for (let length = 0; length < closing + 2; length++) {
    await assert.rejects(parse(whole.subarray(0, length)), refusedAs('invalid_request'), `cut at ${length}`);
  }
});

const line = `--${BOUNDARY}`;
const MALFORMED: Readonly<Record<string, string>> = {
  'no bytes': '',
  'no form': 'just text',
  JSON: '{"prompt":"a cat"}',
  'a closing delimiter alone, after a part that was never begun': `x${line}--`,
  'another boundary': formOf([{ name: 'a', value: '1' }], 'another').toString(),
  'a part without headers': `${line}\r\n\r\nvalue\r\n${line}--\r\n`,
  'a part without a name': `${line}\r\nContent-Disposition: form-data\r\n\r\nvalue\r\n${line}--\r\n`,
  'an empty name': formOf([{ name: '', value: '1' }]).toString(),
  'a name that is far too long': formOf([{ name: 'n'.repeat(5_000), value: '1' }]).toString(),
  'an attachment, which a parser would leave out': `${line}\r\nContent-Disposition: attachment; name="mask"\r\n\r\nv\r\n${line}--\r\n`,
  'headers without a colon': `${line}\r\nContent-Disposition form-data\r\n\r\nvalue\r\n${line}--\r\n`,
  'headers larger than a part may have': `${line}\r\n${'X-A: '.padEnd(20_000, 'a')}\r\n${headOfPart({ name: 'a' })}1\r\n${line}--\r\n`,
  'more headers than a part may have': `${line}\r\n${'X-A: 1\r\n'.repeat(100)}${headOfPart({ name: 'a' })}1\r\n${line}--\r\n`,
  'headers that never end': `${line}\r\n${'X-A: 1\r\n'.repeat(10_000)}`,
  'a line break in a name': `${line}\r\nContent-Disposition: form-data; name="a\nb"\r\n\r\nv\r\n${line}--\r\n`,
  'an empty part between two': `${line}\r\n${line}\r\n${headOfPart({ name: 'a' })}1\r\n${line}--\r\n`,
};

for (const [what, body] of Object.entries(MALFORMED)) {
  test(`${what}: invalid_request`, () => assert.rejects(parse(body), refusedAs('invalid_request')));
}

test('a nested form is the content of its part', async () => {
  const inner = formOf([{ name: 'inner', value: '1' }], 'inner').toString();
  const type = 'multipart/mixed; boundary=inner';
  assert.deepEqual(await parse(formOf([{ name: 'outer', value: inner, type }])), [{ kind: 'field', name: 'outer', value: inner }]);
});

test('thousands of parts are refused before they are parsed, and a field of more than a mebibyte; both are counted', async () => {
  const before = counters.values.bodies_too_large;
  const many = Array.from({ length: 5_000 }, (_, i) => ({ name: `p${i}`, value: 'x' }));
  await assert.rejects(parse(formOf(many)), refusedAs('request_too_large'));
  await assert.rejects(parse(formOf([{ name: 'p', value: 'x'.repeat(MAX_FIELD_BYTES + 1) }])), refusedAs('request_too_large'));
  assert.equal(counters.values.bodies_too_large, before + 2);
  assert.equal((await parse(formOf(many.slice(0, MAX_PARTS)))).length, MAX_PARTS);
});

test('the Content-Type is a form with a proper boundary', () => {
  assert.equal(boundaryOf(FORM_TYPE), BOUNDARY);
  assert.equal(boundaryOf('Multipart/Form-Data; charset=utf-8; boundary="a-b"'), 'a-b');
  for (const type of [undefined, '', 'application/json', 'multipart/mixed; boundary=a', 'text/plain; multipart/form-data', '\u0000']) {
    assert.equal(isForm(type), false);
    assert.throws(() => boundaryOf(type), refusedAs('unsupported_media_type'));
  }
  for (const parameters of ['', '; boundary=', '; boundary=""', `; boundary=${'b'.repeat(71)}`, '; boundary="a\\"b"', '; boundary="ü"']) {
    assert.throws(() => boundaryOf(`multipart/form-data${parameters}`), refusedAs('invalid_request'));
  }
});

test('randomly changed bytes are parsed or refused, and never hang', async () => {
  const random = new SeededRandom(20);
  const whole = formOf(PARTS.map((part) => ({ ...part, value: part.value.slice(0, 40) })));
  for (let round = 0; round < 400; round++) {
    const bent = Buffer.from(whole);
    for (let i = 0; i < 4; i++) bent[Math.floor(random.next() * bent.length)] = Math.floor(random.next() * 256);
    await parse(bent).catch((error: unknown) => assert.ok(error instanceof Refusal, String(error)));
  }
});
