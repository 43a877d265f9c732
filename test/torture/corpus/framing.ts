// THE LIST of ways to frame a request that two parsers could read differently, or that no parser should accept.

/** A request in parts. */
export interface Parts {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** @returns the bytes of the request in latin1 */
type Framing = (parts: Parts) => string;

const lines = ({ headers }: Parts): string => headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
const first = ({ method, path }: Parts, version = 'HTTP/1.1'): string => `${method} ${path} ${version}\r\n`;
const length = ({ method, body }: Parts): string => (method === 'POST' ? `content-length: ${body.length}\r\n` : '');
const chunk = (body: string, extension = ''): string => (body === '' ? '' : `${body.length.toString(16)}${extension}\r\n${body}\r\n`);

/** The ordinary request, with these bytes among its headers. */
const withLine =
  (line: string): Framing =>
  (parts) =>
    `${first(parts)}${lines(parts)}${line}${length(parts)}\r\n${parts.body}`;

/** The ordinary request, with these bytes instead of its length. */
const withLength =
  (line: (parts: Parts) => string): Framing =>
  (parts) =>
    `${first(parts)}${lines(parts)}${line(parts)}\r\n${parts.body}`;

/** The ordinary request, with a body in chunks. */
const inChunks =
  (line: string, body: (text: string) => string = (text) => `${chunk(text)}0\r\n\r\n`): Framing =>
  (parts) =>
    `${first(parts)}${lines(parts)}${line}\r\n${body(parts.body)}`;

const withVersion =
  (version: string): Framing =>
  (parts) =>
    `${first(parts, version)}${lines(parts)}${length(parts)}\r\n${parts.body}`;

const withTarget =
  (target: (path: string) => string): Framing =>
  (parts) =>
    ordinary({ ...parts, path: target(parts.path) });

const ordinary: Framing = (parts) => `${first(parts)}${lines(parts)}${length(parts)}\r\n${parts.body}`;
const replaced =
  (from: string | RegExp, to: string): Framing =>
  (parts) =>
    ordinary(parts).replace(from, to);

const CODING = 'transfer-encoding: chunked\r\n';
const CODINGS = [
  'identity',
  'gzip, chunked',
  'chunked, gzip',
  'chunked, identity',
  'xchunked',
  'chunkedx',
  '"chunked"',
  'CHUNKED',
  ' chunked',
  '\tchunked',
  'chunked ',
  '\x0bchunked',
  'chunked;a=b',
  ', chunked',
  'chunked, chunked',
];
const LENGTHS = [
  '+N',
  '-N',
  ' N',
  'N ',
  '\tN',
  'N\x0b',
  '0xN',
  'N.0',
  'N, N',
  'N,N',
  'NaN',
  '',
  '00N',
  'N;a',
  '99999999999999999999999',
  '١',
];
const SIZES = [
  'xyz',
  '-5',
  '+5',
  ' 5',
  '5 ',
  '0x5',
  '',
  '5;',
  '5;a=b',
  '5;a="b"',
  '5 ; a',
  '5\t',
  '5,5',
  'ffffffffffffffffff',
  '05',
  '5\0',
];

const named = <T>(all: readonly T[], name: (one: T) => string, of: (one: T) => Framing): Record<string, Framing> =>
  Object.fromEntries(all.map((one) => [name(one), of(one)]));

const quoted = (text: string): string => JSON.stringify(text);

const ALL: Readonly<Record<string, Framing>> = {
  'as ever': ordinary,
  'in chunks': inChunks(CODING),
  'in chunks of one byte': inChunks(CODING, (text) => `${[...text].map((letter) => chunk(letter)).join('')}0\r\n\r\n`),
  'with trailers': inChunks(CODING, (text) => `${chunk(text)}0\r\nx-a: b\r\nauthorization: Bearer c\r\ncontent-length: 5\r\n\r\n`),
  'with a trailer that is none': inChunks(CODING, (text) => `${chunk(text)}0\r\nno header\r\n\r\n`),
  'with chunk extensions': inChunks(CODING, (text) => `${chunk(text, ';a=b;c="d"')}0;e\r\n\r\n`),
  'without the last chunk': inChunks(CODING, (text) => chunk(text)),
  'LF behind a chunk size': inChunks(CODING, (text) => chunk(text).replace('\r\n', '\n')),
  'LF behind a chunk': inChunks(CODING, (text) => `${chunk(text).slice(0, -2)}\n0\r\n\r\n`),
  'LF behind the last chunk': inChunks(CODING, (text) => `${chunk(text)}0\n\n`),
  'CR in a chunk extension': inChunks(CODING, (text) => chunk(text, ';a\rb')),
  'LF in a chunk extension': inChunks(CODING, (text) => chunk(text, ';a\nb')),
  'a chunk longer than its size': inChunks(CODING, (text) => `1\r\n${text}\r\n0\r\n\r\n`),
  'a chunk shorter than its size': inChunks(CODING, (text) => `${(text.length + 5).toString(16)}\r\n${text}\r\n0\r\n\r\n`),
  ...named(
    SIZES,
    (size) => `the chunk size ${quoted(size)}`,
    (size) => inChunks(CODING, () => `${size}\r\nhello\r\n0\r\n\r\n`),
  ),
  ...named(
    CODINGS,
    (coding) => `Transfer-Encoding ${quoted(coding)}`,
    (coding) => inChunks(`transfer-encoding: ${coding}\r\n`),
  ),
  ...named(
    CODINGS,
    (coding) => `Transfer-Encoding ${quoted(coding)} with a length`,
    (coding) => withLine(`transfer-encoding: ${coding}\r\n`),
  ),
  'Transfer-Encoding twice': inChunks(`${CODING}${CODING}`),
  'Transfer-Encoding twice, identity first': inChunks(`transfer-encoding: identity\r\n${CODING}`),
  'Transfer-Encoding without a value': inChunks('transfer-encoding:\r\n'),
  'Transfer-Encoding behind a space': inChunks('transfer-encoding : chunked\r\n'),
  'Transfer-Encoding in a folded line': inChunks('x-a: b\r\n transfer-encoding: chunked\r\n'),
  'a folded Transfer-Encoding': inChunks('transfer-encoding:\r\n chunked\r\n'),
  'Transfer-Encoding behind a NUL': inChunks('x-a: b\0\r\ntransfer-encoding: chunked\r\n'),
  'Transfer-Encoding behind a bare CR': inChunks('x-a: b\rtransfer-encoding: chunked\r\n'),
  'Transfer-Encoding behind a bare LF': inChunks('x-a: b\ntransfer-encoding: chunked\r\n'),
  Transfer_Encoding: withLine('transfer_encoding: chunked\r\n'),
  'length behind chunks': inChunks(`${CODING}content-length: 5\r\n`),
  'chunks in HTTP/1.0': (parts) => inChunks(CODING)(parts).replace('HTTP/1.1', 'HTTP/1.0'),
  ...named(
    LENGTHS,
    (text) => `Content-Length ${quoted(text)}`,
    (text) => withLength(({ body }) => `content-length: ${text.replaceAll('N', String(body.length))}\r\n`),
  ),
  'two lengths': withLength(({ body }) => `content-length: ${body.length}\r\nContent-Length: 3\r\n`),
  'two equal lengths': withLength(({ body }) => `content-length: ${body.length}\r\ncontent-length: ${body.length}\r\n`),
  'a length too small': withLength(({ body }) => `content-length: ${Math.max(0, body.length - 5)}\r\n`),
  'a length too large': withLength(({ body }) => `content-length: ${body.length + 5}\r\n`),
  'a folded length': withLength(({ body }) => `content-length:\r\n ${body.length}\r\n`),
  ...named(
    [
      'HTTP/1.0',
      'HTTP/0.9',
      'HTTP/1.2',
      'HTTP/2',
      'HTTP/2.0',
      'HTTP/3.0',
      'HTTP/1.10',
      'HTTP/01.1',
      'http/1.1',
      'HTTP/1,1',
      'HTTP 1.1',
      'RTSP/1.0',
      'ICE/1.0',
      'X',
      '',
    ],
    (version) => `the version ${quoted(version)}`,
    withVersion,
  ),
  ...named(
    ['  ', '\t', '\x0b', '\x85', ' \t'],
    (space) => `${quoted(space)} behind the method`,
    (space) => replaced(' ', space),
  ),
  'an absolute target': withTarget((path) => `http://gateway${path}`),
  'an absolute target of https': withTarget((path) => `https://gateway${path}`),
  'a target of another host': withTarget((path) => `//other${path}`),
  'the target *': withTarget(() => '*'),
  'no target': withTarget(() => ''),
  'an authority for a target': withTarget(() => 'gateway:80'),
  'a fragment': withTarget((path) => `${path}#a`),
  'a query with everything': withTarget((path) => `${path}?a=%00&b=%0d%0a&c=../..`),
  'a target with a NUL': withTarget((path) => `${path}\0`),
  'a target with a control character': withTarget((path) => `${path}\x01`),
  'a target past ASCII': withTarget((path) => `${path}\xe9`),
  'a target with a backslash': withTarget((path) => path.replaceAll('/', '\\')),
  'a target with CR': withTarget((path) => `${path}\r`),
  'a target of 70 KB': withTarget((path) => `${path}?${'a'.repeat(70_000)}`),
  ...named(
    ['TRACE', 'CONNECT', 'PRI', 'SMUGGLE', 'get', 'G ET', 'GET\0', '', 'X'.repeat(100), 'PATCH', 'PROPFIND'],
    (method) => `the method ${quoted(method.slice(0, 20))}`,
    (method) => (parts) => ordinary({ ...parts, method }),
  ),
  'LF for every line end': (parts) => ordinary(parts).replaceAll('\r\n', '\n'),
  'LF behind the request line': replaced('\r\n', '\n'),
  'CR for every line end': (parts) => ordinary(parts).replaceAll('\r\n', '\r'),
  'an empty line first': (parts) => `\r\n${ordinary(parts)}`,
  'a space first': (parts) => ` ${ordinary(parts)}`,
  'a header before the request line': (parts) => `x-a: b\r\n${ordinary(parts)}`,
  'a space before the first header': replaced('\r\n', '\r\n '),
  'a header without a name': withLine(': b\r\n'),
  'a header without a colon': withLine('x-a\r\n'),
  'a header with a space in its name': withLine('x a: b\r\n'),
  'a header with a space before its colon': withLine('x-a : b\r\n'),
  'a header past ASCII in its name': withLine('x-\xe9: b\r\n'),
  'a header past ASCII in its value': withLine('x-a: \xe9\r\n'),
  'a folded header': withLine('x-a: b\r\n c\r\n'),
  'a header folded by a tab': withLine('x-a: b\r\n\tc\r\n'),
  'a NUL in a header': withLine('x-a: b\0c\r\n'),
  'a bare CR in a header': withLine('x-a: b\rc\r\n'),
  'DEL in a header': withLine('x-a: b\x7fc\r\n'),
  'a header of 70 KB': withLine(`x-a: ${'a'.repeat(70_000)}\r\n`),
  '300 headers': withLine(Array.from({ length: 300 }, (_, i) => `x-${i}: b\r\n`).join('')),
  'a Connection header of 300 names': withLine(`connection: ${Array.from({ length: 300 }, (_, i) => `x-${i}`).join(', ')}\r\n`),
  'Connection: close': withLine('connection: close\r\n'),
  'Connection names the length': withLine('connection: content-length, authorization\r\n'),
  'no Host': replaced(/host: .*\r\n/, ''),
  'two Hosts': withLine('Host: other\r\n'),
  'two Authorizations': withLine('Authorization: Bearer other\r\n'),
  'Expect: 100-continue': withLine('expect: 100-continue\r\n'),
  'another expectation': withLine('expect: 200-ok\r\n'),
  'an upgrade to another protocol': withLine('upgrade: h2c\r\nconnection: upgrade\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n'),
  'an upgrade to a websocket': withLine(
    'upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
  ),
  'a body that is not announced': withLength(() => ''),
  'half a head': (parts) => ordinary(parts).slice(0, 20),
  TLS: () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'nothing but line ends': () => '\r\n'.repeat(500),
  'NUL alone': () => '\0'.repeat(100),
};

export const FRAMINGS = Object.entries(ALL).map(([name, frame]) => ({ name, frame }));
