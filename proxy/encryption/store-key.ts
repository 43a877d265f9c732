// The key of the store: read from where `store_key` names it, or made there; every use has a key of its own, derived from it.
import { hkdfSync, randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StoreError } from '../../store/store.ts';
import { faultOf } from '../config/secrets.ts';
import type { SecretRef } from '../turn/settings.ts';
import { Cipher } from './cipher.ts';
import { KeyedDigest } from './digest.ts';

const KEY_BYTES = 32;
/** What is shorter was typed by somebody, and can be guessed by somebody. */
const LEAST_CHARACTERS = 16;

export class StoreKey {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** Digests for one purpose: nobody without the key can tell what was digested, and equal values of two purposes look unlike. */
  digest(purpose: string): KeyedDigest {
    return new KeyedDigest(this.#derive(`digest ${purpose}`));
  }

  cipher(purpose: string): Cipher {
    return new Cipher(this.#derive(`cipher ${purpose}`));
  }

  #derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, '', `poolgate ${purpose}`, KEY_BYTES));
  }
}

/**
 * Reads the key of a store, or makes its file.
 * @param store As in the configuration. What lives in memory needs no key that outlives it.
 * @throws StoreError with a message for the operator
 */
export async function storeKeyOf(store: string, reference: SecretRef, env: NodeJS.ProcessEnv = process.env): Promise<StoreKey> {
  if (store === 'sqlite::memory:') return new StoreKey(fresh());
  const secret = 'env' in reference ? (env[reference.env] ?? '') : await ofFile(reference.file);
  if (secret.length < LEAST_CHARACTERS)
    throw new StoreError('not_writable', `store_key: must have at least ${LEAST_CHARACTERS} characters`);
  return new StoreKey(secret);
}

const fresh = (): string => randomBytes(KEY_BYTES).toString('base64url');

async function ofFile(file: string): Promise<string> {
  try {
    return (await contentOf(file)) ?? (await made(file));
  } catch (thrown) {
    throw new StoreError('not_writable', `store_key ${file}: ${faultOf(thrown)}`, { cause: thrown });
  }
}

/** Undefined where there is no such file. */
async function contentOf(file: string): Promise<string | undefined> {
  try {
    // Editors and secret mounts end a file with a line break that is no part of the key.
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Written aside and then linked: a key is there whole or not at all, and of two processes that make one, both use the first. */
async function made(file: string): Promise<string> {
  const secret = fresh();
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const aside = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(aside, 'wx', 0o600);
    try {
      await handle.writeFile(`${secret}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(aside, file);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST')) throw thrown;
    return (await contentOf(file)) ?? '';
  } finally {
    await rm(aside, { force: true });
  }
  return secret;
}
