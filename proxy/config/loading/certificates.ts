// Reads and checks the PEM files that the file names, so that unusable certificates are found before a connection needs them.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DAY_MS } from '../../base/time/utc-days.ts';
import type { TlsMaterial } from '../config.ts';
import type { Path, Problem } from '../schema/finding.ts';
import { fileFault } from './secrets.ts';

/** The paths of PEM files, relative to `folder`. */
export type TlsFiles = { readonly [Name in keyof TlsMaterial]?: string };

export interface ReadTls {
  readonly material: TlsMaterial;
  readonly problems: readonly Problem[];
}

/** @param path the setting that names the files */
export async function readTls(files: TlsFiles, folder: string, path: Path): Promise<ReadTls> {
  const problems: Problem[] = [];
  const material: { -readonly [Name in keyof TlsMaterial]: string } = {};
  for (const name of ['ca', 'cert', 'key'] as const) {
    const file = files[name];
    if (file === undefined) continue;
    const read = await textOf(resolve(folder, file));
    const fault = 'fault' in read ? read.fault : faultIn(name, read.text);
    if (fault !== undefined) problems.push({ path: [...path, name], message: fault });
    else if ('text' in read) material[name] = read.text;
  }
  const { cert, key } = material;
  if (cert !== undefined && key !== undefined && !belongs(cert, key)) {
    problems.push({ path: [...path, 'key'], message: 'this key is not the one of the certificate' });
  }
  return { material, problems };
}

async function textOf(file: string): Promise<{ readonly text: string } | { readonly fault: string }> {
  try {
    return { text: await readFile(file, 'utf8') };
  } catch (error) {
    return { fault: fileFault(error) };
  }
}

function faultIn(name: keyof TlsMaterial, pem: string): string | undefined {
  if (name !== 'key') return certificatesIn(pem) ? undefined : 'this file has no certificate in PEM form, or one that cannot be read';
  const key = keyIn(pem);
  return typeof key === 'string' ? key : undefined;
}

/** The days before the end of a certificate in which operators are warned. */
export const SOON_DAYS = 14;

/** A warning about a certificate that has expired or will soon. @param path its setting @param now Unix milliseconds */
export function* endingSoon(pem: string | undefined, path: Path, now: number): Generator<Problem> {
  const [own] = (pem !== undefined && certificatesIn(pem)) || [];
  const end = own ? Date.parse(own.validTo) : Number.POSITIVE_INFINITY;
  if (end - now >= SOON_DAYS * DAY_MS) return;
  const message = end < now ? 'this certificate has expired' : `this certificate expires on ${new Date(end).toISOString().slice(0, 10)}`;
  yield { path, message, severity: 'warning' };
}

const BLOCKS = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** All certificates in a PEM text, the own one first. Undefined if there is none, or one of them is malformed. */
function certificatesIn(pem: string): readonly X509Certificate[] | undefined {
  const blocks = pem.match(BLOCKS);
  try {
    return blocks?.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** The key, or a message about what is wrong with the text. */
function keyIn(pem: string): KeyObject | string {
  if (/ENCRYPTED/.test(pem)) return 'this key is encrypted; the gateway needs one without a passphrase, in a file of mode 0600';
  try {
    return createPrivateKey(pem);
  } catch {
    return 'this file has no private key in PEM form';
  }
}

function belongs(cert: string, key: string): boolean {
  const [own] = certificatesIn(cert) ?? [];
  const secret = keyIn(key);
  return own !== undefined && typeof secret !== 'string' && own.checkPrivateKey(secret);
}
