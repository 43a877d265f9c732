// The key of the store, and the keys that are derived from it.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Cipher } from '../../proxy/encryption/cipher.ts';
import { KeyedDigest } from '../../proxy/encryption/digest.ts';
import { storeKeyOf } from '../../proxy/encryption/store-key.ts';
import { StoreError } from '../../store/store.ts';
import { folder } from '../store/adapters.ts';

const STORE = 'sqlite:/nowhere/poolgate.db';
const KEY = Buffer.alloc(32, 7);

suite('the key of the store', () => {
  test('a missing file is made once, for its owner only, and read from then on', async (context) => {
    const file = join(await folder(context), 'data', 'store.key');
    const keys = await Promise.all(Array.from({ length: 8 }, () => storeKeyOf(STORE, { file })));
    const digests = new Set([...keys, await storeKeyOf(STORE, { file })].map((key) => key.digest('pins').of('value')));
    assert.equal(digests.size, 1);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.match(await readFile(file, 'utf8'), /^[\w-]{43}\n$/);
    assert.deepEqual(await readdir(join(file, '..')), ['store.key']);
  });

  test('it may be in a variable, or in a file that ends with a line break', async (context) => {
    const file = join(await folder(context), 'store.key');
    await writeFile(file, 'a key of the operator\r\n');
    const byFile = await storeKeyOf(STORE, { file });
    const byVariable = await storeKeyOf(STORE, { env: 'STORE_KEY' }, { STORE_KEY: 'a key of the operator' });
    assert.equal(byFile.digest('pins').of('x'), byVariable.digest('pins').of('x'));
  });

  test('a key that could be guessed, or that cannot be read, is refused with a message that does not repeat it', async (context) => {
    const place = await folder(context);
    await mkdir(join(place, 'store.key'));
    await assert.rejects(storeKeyOf(STORE, { env: 'SHORT' }, { SHORT: 'hunter2' }), (error: unknown) => {
      assert(error instanceof StoreError);
      assert.match(error.message, /^store_key: the variable SHORT must have at least 16 characters$/);
      return true;
    });
    await writeFile(join(place, 'short.key'), 'hunter2');
    const short = join(place, 'short.key');
    await assert.rejects(storeKeyOf(STORE, { file: short }), { message: `store_key: ${short} must have at least 16 characters` });
    await assert.rejects(storeKeyOf(STORE, { file: join(place, 'store.key') }), /store_key .*: this is a folder, not a file/);
  });

  test('a store in memory needs no file', async () => {
    const file = '/nowhere/at/all/store.key';
    const keys = await Promise.all([storeKeyOf('sqlite::memory:', { file }), storeKeyOf('sqlite::memory:', { file })]);
    assert.notEqual(keys[0]?.digest('pins').of('x'), keys[1]?.digest('pins').of('x'));
  });

  test('each purpose has a key of its own', async () => {
    const key = await storeKeyOf('sqlite::memory:', { file: '' });
    assert.notEqual(key.digest('pins').of('x'), key.digest('credentials').of('x'));
    assert.equal(key.digest('pins').of('x'), key.digest('pins').of('x'));
    assert.equal(key.cipher('b').open(key.cipher('a').seal('text', 'north'), 'north'), undefined);
  });
});

suite('keyed digests', () => {
  test('are equal to those in existing stores', () => {
    const digest = new KeyedDigest(KEY);
    const stored = [
      ['', 'naxqdEAbRu2bSJ0OGdaNGxPMa1CQNS_c-lvXTfTmnYc'],
      ['a', 'TnAEvrrCh2VvlqKdSxa-LUqjUs-Icc0iIvJ70CQOYRg'],
      ['resp_1', 'GUSN_teUNmDRm7VnuWz5N1gCrzml3c9WIQEq_y_O2Hg'],
      ['é🦄\u0000', 'sraBLDNmteKVwHvy40tRqPAj0Mi6Onq_Ktqarq2TPAM'],
      ['x'.repeat(1_365), '58WqnFrHKMI22cAvaNSac5zIN2yGasUsi3aaPwrGF00'],
      ['y'.repeat(1_366), 'YQsFSI0CcGSmQPVK5vnZm-UZJjpKr2qcG3RcuoyNOR4'],
      [`${'y'.repeat(100_000)}1`, 'YrPeOTNlZSkGfyL4yc8olE0CKKPFFd0ECfu_Vncm3YA'],
    ] as const;
    for (const [text, value] of stored) assert.equal(digest.of(text), value, text.slice(0, 20));
  });

  test('are HMAC-SHA-256, of every text', () => {
    const digest = new KeyedDigest(KEY);
    for (const text of ['', 'a', 'resp_1', 'é🦄\u0000', 'x'.repeat(1_365)]) {
      assert.equal(digest.of(text), createHmac('sha256', KEY).update(text).digest('base64url'), text.slice(0, 20));
    }
    // Every character of a long value affects the digest.
    assert.notEqual(digest.of(`${'y'.repeat(100_000)}1`), digest.of(`${'y'.repeat(100_000)}2`));
    assert.equal(digest.of('a'), digest.of('a'));
  });
});

suite('the cipher', () => {
  const cipher = new Cipher(KEY);

  test('opens its own sealed texts, and none that was changed, moved or sealed with another key', () => {
    const text = JSON.stringify({ refresh_token: 'rt_é🦄' });
    const sealed = cipher.seal(text, 'north');
    assert.equal(cipher.open(sealed, 'north'), text);
    assert.equal(cipher.open(sealed, 'south'), undefined);
    assert.equal(new Cipher(Buffer.alloc(32, 8)).open(sealed, 'north'), undefined);
    for (let at = 3; at < sealed.length; at += 5) {
      const touched = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      // The last character of a base64url text may have unused bits.
      if (at < sealed.length - 1) assert.equal(cipher.open(touched, 'north'), undefined, `at ${at}`);
    }
    for (const nonsense of ['', 'v1', 'v1..', 'v2.a.b', 'v1.a.b', '..']) assert.equal(cipher.open(nonsense, 'north'), undefined);
  });

  test('seals the same text differently every time, and shows none of it', () => {
    const [a, b] = [cipher.seal('secret text', 'north'), cipher.seal('secret text', 'north')];
    assert.notEqual(a, b);
    assert(!a.includes('secret') && !Buffer.from(a.split('.')[2] ?? '', 'base64url').includes('secret'));
    assert.equal(cipher.open(cipher.seal('', 'north'), 'north'), '');
  });
});
