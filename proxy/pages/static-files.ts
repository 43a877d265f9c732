// Static files for browsers: their names have the hash of their content, so that they are kept for good. Read and compressed once.
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';

export interface StaticFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly brotli: Buffer;
}

export interface EncodedFile {
  readonly body: Buffer;
  /** With its content type, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * @param name its name in the site, such as `base/api.js`
 * @param from where it is read
 * @param end is added to it
 */
export async function staticFile(name: string, from: string, end = ''): Promise<{ readonly digest: string; readonly file: StaticFile }> {
  const plain = Buffer.from(withoutMap(await readFile(from, 'utf8')) + end);
  const type = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  return { digest: hash('sha256', plain, 'hex').slice(0, 12), file: await compressed(type, plain) };
}

export async function compressed(type: string, plain: Buffer): Promise<StaticFile> {
  const [zipped, brotli] = await Promise.all([promisify(gzip)(plain, { level: 9 }), promisify(brotliCompress)(plain)]);
  return { type, plain, gzip: zipped, brotli };
}

/** The best encoding that the client accepts. @param kept what browsers may keep of it */
export function encodedFile({ type, plain, gzip: zipped, brotli }: StaticFile, accepted = '', kept = FOR_GOOD): EncodedFile {
  const [body, encoding] = /\bbr\b/.test(accepted)
    ? [brotli, 'br']
    : /\bgzip\b/.test(accepted)
      ? [zipped, 'gzip']
      : ([plain, undefined] as const);
  const headers = { 'content-type': type, 'cache-control': kept, vary: 'accept-encoding' };
  return { body, headers: encoding === undefined ? headers : { ...headers, 'content-encoding': encoding } };
}

/** A name has the hash of the content. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

/** Packages name source maps that are not served. */
const withoutMap = (content: string): string => content.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
