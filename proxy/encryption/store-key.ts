// The key of the store. It is read from the place that `store_key` names, or created there. Each purpose has a key derived from it.
import { hkdfSync, randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { makeFolderOf, writeFaultOf } from '../../store/folder.ts';
import { StoreError } from '../../store/store.ts';
import type { Config } from '../config/config.ts';
import { fileFault } from '../config/loading/secrets.ts';
import type { SecretRef } from '../turn/settings.ts';
import { Cipher } from './cipher.ts';
import { KeyedDigest } from './digest.ts';
import { SealedCapsules } from './sealed-capsules.ts';

const KEY_BYTES = 32;
/** The shortest key. A shorter one could be guessed. */
const LEAST_CHARACTERS = 16;

export class StoreKey {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** Makes digests for one purpose. They cannot be inverted without the key, and equal values of two purposes have different digests. */
  digest(purpose: string): KeyedDigest {
    return new KeyedDigest(this.#derive(`digest ${purpose}`));
  }

  cipher(purpose: string): Cipher {
    return new Cipher(this.#derive(`cipher ${purpose}`));
  }

  capsules(): SealedCapsules {
    return new SealedCapsules(this.#derive('capsules'));
  }

  #derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, '', `poolgate ${purpose}`, KEY_BYTES));
  }
}

/**
 * Reads the key of a store, or creates its file.
 * @param store the setting of the configuration; a store in memory gets a random key
 * @throws StoreError with a message for the operator
 */
export async function storeKeyOf(store: Config['store'], reference: SecretRef, env: NodeJS.ProcessEnv = process.env): Promise<StoreKey> {
  if (store === 'sqlite::memory:') return new StoreKey(randomSecret());
  const secret = 'env' in reference ? (env[reference.env] ?? '') : await fileSecret(reference.file);
  if (secret.length < LEAST_CHARACTERS) {
    const place = 'env' in reference ? `the variable ${reference.env}` : reference.file;
    throw new StoreError('not_writable', `store_key: ${place} must have at least ${LEAST_CHARACTERS} characters`);
  }
  return new StoreKey(secret);
}

/** The key of a store if it exists. Nothing is created. */
export async function existingStoreKey(reference: SecretRef, env: NodeJS.ProcessEnv): Promise<StoreKey | undefined> {
  const secret = 'env' in reference ? env[reference.env] : await contentOf(reference.file).catch(() => undefined);
  return secret === undefined || secret.length < LEAST_CHARACTERS ? undefined : new StoreKey(secret);
}

const randomSecret = (): string => randomBytes(KEY_BYTES).toString('base64url');

async function fileSecret(file: string): Promise<string> {
  const fail = (fault: string, cause: unknown): StoreError => new StoreError('not_writable', `store_key ${file}: ${fault}`, { cause });
  const content = await contentOf(file).catch((thrown) => {
    throw fail(fileFault(thrown), thrown);
  });
  if (content !== undefined) return content;
  return created(file).catch((thrown) => {
    throw fail(`it does not exist and cannot be created: ${writeFaultOf(thrown)}`, thrown);
  });
}

/** Undefined if the file does not exist. */
async function contentOf(file: string): Promise<string | undefined> {
  try {
    // Editors and secret mounts add a line break, which is not part of the key.
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Writes a temporary file and links it, so that the key file is complete or absent, and two processes that create it use the same key. */
async function created(file: string): Promise<string> {
  const secret = randomSecret();
  await makeFolderOf(file);
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(`${secret}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(temporary, file);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST')) throw thrown;
    return (await contentOf(file)) ?? '';
  } finally {
    await rm(temporary, { force: true });
  }
  return secret;
}
