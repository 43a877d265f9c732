// Static files for browsers. They are read and compressed once. Their names have a hash of their content, so that browsers can keep them
// without limit.
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
  /** The headers, including the content type, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** @param name the name in the site, such as `base/api.js` @param from the path of the file @param end a text that is added to the file */
export async function staticFile(name: string, from: string, end = ''): Promise<{ readonly digest: string; readonly file: StaticFile }> {
  const plain = Buffer.from(withoutMap(await readFile(from, 'utf8')) + end);
  const type = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  return { digest: hash('sha256', plain, 'hex').slice(0, 12), file: await compressed(type, plain) };
}

export async function compressed(type: string, plain: Buffer): Promise<StaticFile> {
  const [zipped, brotli] = await Promise.all([promisify(gzip)(plain, { level: 9 }), promisify(brotliCompress)(plain)]);
  return { type, plain, gzip: zipped, brotli };
}

/** The best encoding that the client accepts. @param kept the caching that browsers may use */
export function encodedFile({ type, plain, gzip: zipped, brotli }: StaticFile, accepted = '', kept = FOR_GOOD): EncodedFile {
  const [body, encoding] = /\bbr\b/.test(accepted)
    ? [brotli, 'br']
    : /\bgzip\b/.test(accepted)
      ? [zipped, 'gzip']
      : ([plain, undefined] as const);
  const headers = { 'content-type': type, 'cache-control': kept, vary: 'accept-encoding' };
  return { body, headers: encoding === undefined ? headers : { ...headers, 'content-encoding': encoding } };
}

/** For files whose names have a hash of their content. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

/** The text without its source map, which is not served. */
const withoutMap = (content: string): string => content.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
