// THE LIST of content codings that a client states wrongly, or that hide something: bodies without the coding, bombs, and nested codings.
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** The codings that the gateway decodes (Q2). */
export const CODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (bytes) => zstdCompressSync(bytes),
};

export interface HostileCoding {
  readonly name: string;
  readonly coding: string;
  readonly body: (plain: Buffer) => Buffer;
}

/** Twice the permitted size of a decoded body. */
const BOMB = 8 << 20;
const NOISE = Buffer.from('noise that belongs to no stream');

/** Makes the bytes at the first use, because that takes a while. */
function made(of: () => Buffer): () => Buffer {
  let bytes: Buffer | undefined;
  return () => {
    bytes ??= of();
    return bytes;
  };
}

function ofEach(coding: string, code: (bytes: Buffer) => Buffer): readonly HostileCoding[] {
  const bomb = made(() => code(Buffer.alloc(BOMB)));
  return Object.entries<HostileCoding['body']>({
    'as ever': code,
    'that is none': (plain) => plain,
    'of nothing': () => Buffer.alloc(0),
    'of an empty body': () => code(Buffer.alloc(0)),
    twice: (plain) => code(code(plain)),
    'with bytes behind it': (plain) => Buffer.concat([code(plain), NOISE]),
    'with bytes before it': (plain) => Buffer.concat([NOISE, code(plain)]),
    'and another behind it': (plain) => Buffer.concat([code(plain), code(plain)]),
    'in two members': (plain) => Buffer.concat([code(plain.subarray(0, 9)), code(plain.subarray(9))]),
    'behind 2,000 empty members': (plain) => Buffer.concat([...Array.from({ length: 2_000 }, () => code(Buffer.alloc(0))), code(plain)]),
    'of 8 MiB of zeros': bomb,
    'of 8 MiB of zeros, twice': () => code(bomb()),
    'of spaces and a body': (plain) => code(Buffer.concat([Buffer.alloc(3_000_000, ' '), plain])),
    'of bytes that are no UTF-8': () => code(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
  }).map(([name, body]) => ({ name: `${coding} ${name}`, coding, body }));
}

const gzip = (bytes: Buffer): Buffer => gzipSync(bytes);

/** Headers that state another coding, or none. */
const STATED: readonly string[] = [
  '',
  'identity',
  'x-gzip',
  'GZIP',
  'gzip, gzip',
  'gzip,',
  ',gzip',
  'gzip;q=1',
  'compress',
  'aes128gcm',
  'gzip\tbr',
  '*',
];

export const HOSTILE_CODINGS: readonly HostileCoding[] = [
  ...Object.entries(CODERS).flatMap(([coding, code]) => ofEach(coding, code)),
  ...STATED.map((coding) => ({ name: `gzip as ${JSON.stringify(coding)}`, coding, body: gzip })),
  { name: 'raw deflate', coding: 'deflate', body: (plain) => deflateRawSync(plain) },
  { name: 'br as gzip', coding: 'gzip', body: (plain) => brotliCompressSync(plain) },
  { name: 'gzip in br', coding: 'gzip, br', body: (plain) => brotliCompressSync(gzipSync(plain)) },
  {
    name: 'ten codings',
    coding: Array.from({ length: 10 }, () => 'gzip').join(', '),
    body: (plain) => Array.from({ length: 10 }).reduce(gzipOf, plain),
  },
];

const gzipOf = (bytes: Buffer): Buffer => gzipSync(bytes);
