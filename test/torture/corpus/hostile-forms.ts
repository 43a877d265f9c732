// THE LIST of multipart bodies that no client sends: with unusual boundaries, part headers, names and numbers of parts.

const BOUNDARY = 'form-of-an-attack';
const DELIMITER = `--${BOUNDARY}`;

/** The parts of a form in a client's request. */
export interface FormParts {
  /** The parts with their heads, without delimiters, in latin1. */
  readonly parts: readonly string[];
}

export interface HostileForm {
  readonly name: string;
  readonly type: string;
  /** @returns the bytes of the body in latin1 */
  readonly body: (form: FormParts) => string;
}

const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const closed = (parts: readonly string[]): string => `${parts.map((part) => `${DELIMITER}\r\n${part}\r\n`).join('')}${DELIMITER}--\r\n`;
const field = (head: string, value = 'a'): string => `${head}\r\n\r\n${value}`;
const disposition = (rest: string): string => `Content-Disposition: form-data${rest}`;

/** A form with one more part, first or last. */
const first =
  (part: string): HostileForm['body'] =>
  ({ parts }) =>
    closed([part, ...parts]);
const last =
  (part: string): HostileForm['body'] =>
  ({ parts }) =>
    closed([...parts, part]);
const many = (count: number, of: (i: number) => string): readonly string[] => Array.from({ length: count }, (_, i) => of(i));
const whole: HostileForm['body'] = ({ parts }) => closed(parts);

const BODIES: Readonly<Record<string, HostileForm['body']>> = {
  'as ever': whole,
  nothing: () => '',
  'the last delimiter alone': () => `${DELIMITER}--\r\n`,
  'a delimiter alone': () => `${DELIMITER}\r\n`,
  'no last delimiter': ({ parts }) => closed(parts).slice(0, -`${DELIMITER}--\r\n`.length),
  'half a last delimiter': ({ parts }) => closed(parts).slice(0, -6),
  'no line end behind the last delimiter': ({ parts }) => closed(parts).slice(0, -2),
  'a preamble': ({ parts }) => `a preamble\r\n${closed(parts)}`,
  'an epilogue': ({ parts }) => `${closed(parts)}an epilogue`,
  'an epilogue that is a form': ({ parts }) => closed(parts) + closed(parts),
  'an epilogue of 1 MB': ({ parts }) => closed(parts) + 'e'.repeat(1_000_000),
  'LF for every line end': ({ parts }) => closed(parts).replaceAll('\r\n', '\n'),
  'CR for every line end': ({ parts }) => closed(parts).replaceAll('\r\n', '\r'),
  'white space behind delimiters': ({ parts }) => closed(parts).replaceAll(`${DELIMITER}\r\n`, `${DELIMITER} \t \r\n`),
  'letters behind delimiters': ({ parts }) => closed(parts).replaceAll(`${DELIMITER}\r\n`, `${DELIMITER}x\r\n`),
  'delimiters of another case': ({ parts }) => closed(parts).replaceAll(DELIMITER, DELIMITER.toUpperCase()),
  'every part twice': ({ parts }) => closed(parts.flatMap((part) => [part, part])),
  'parts in the reverse order': ({ parts }) => closed(parts.toReversed()),
  'a part inside a part': ({ parts }) => closed(parts.map((part) => part + closed([field(disposition('; name="model"'))]))),
  'half delimiters in every part': ({ parts }) => closed(parts.map((part) => `${part}\r\n--${BOUNDARY.slice(0, -1)}\r\n-\r\n--\r\n`)),
  'a part without a head': first('\r\na'),
  'a part without an empty line': first(disposition('; name="a"')),
  'a part without a name': first(field(disposition(''))),
  'a part with an empty name': first(field(disposition('; name=""'))),
  'a name that does not end': first(field(disposition('; name="a'))),
  'a name twice': first(field(disposition('; name="a"; name="model"'))),
  'a name of 100 KB': first(field(disposition(`; name="${'a'.repeat(100_000)}"`))),
  'a name with line ends': first(field(disposition('; name="a\r\nContent-Type: b"'))),
  'a name with percent signs': first(field(disposition('; name="%0d%0a%00%zz"; filename="%0d%0a"'))),
  'a name in RFC 2231': first(field(disposition("; name*=UTF-8''%e2%82; filename*=x-none'%ff"))),
  'names that mean something': ({ parts }) =>
    closed([...parts, ...['__proto__', 'constructor', 'toString'].map((name) => field(disposition(`; name="${name}"`)))]),
  'a file name of paths': last(field(disposition('; name="extra"; filename="../../etc/passwd\0.png"'))),
  'a disposition twice': first(field(`${disposition('; name="a"')}\r\n${disposition('; name="model"')}`)),
  'a disposition of another kind': first(field('Content-Disposition: attachment; filename="a"')),
  'a coded part': first(field(`${disposition('; name="language"')}\r\nContent-Transfer-Encoding: base64`, '****')),
  'a part of an unknown charset': first(field(`${disposition('; name="language"')}\r\nContent-Type: text/plain; charset=x-none`, '\xff')),
  'a part of multipart/mixed': first(
    field(`${disposition('; name="file"')}\r\nContent-Type: multipart/mixed; boundary=b`, '--b\r\n\r\na\r\n--b--'),
  ),
  'a folded part header': first(field(`${disposition(';\r\n name="a"')}`)),
  'a part header with NUL': first(field(`X\0: b\r\n${disposition('; name="a"')}`)),
  'a part header without a colon': first(field(`no header\r\n${disposition('; name="a"')}`)),
  'a part header of 100 KB': first(field(`X-A: ${'a'.repeat(100_000)}\r\n${disposition('; name="a"')}`)),
  '1,000 part headers': first(field(`${many(1_000, (i) => `X-${i}: a`).join('\r\n')}\r\n${disposition('; name="a"')}`)),
  '5,000 fields': ({ parts }) => closed([...many(5_000, (i) => field(disposition(`; name="f${i}"`))), ...parts]),
  '5,000 fields behind': ({ parts }) => closed([...parts, ...many(5_000, (i) => field(disposition(`; name="f${i}"`)))]),
  '5,000 files': ({ parts }) => closed([...parts, ...many(5_000, (i) => field(disposition(`; name="f${i}"; filename="f"`)))]),
  'a field of 2 MB': first(field(disposition('; name="prompt"'), 'a'.repeat(2_000_000))),
  'a field of 2 MB behind': last(field(disposition('; name="prompt"'), 'a'.repeat(2_000_000))),
  'a file of 5 MB': last(field(disposition('; name="file"; filename="a"'), 'a'.repeat(5_000_000))),
  'line ends alone': () => '\r\n'.repeat(100_000),
  'hyphens alone': () => '-'.repeat(200_000),
  'line ends and hyphens': ({ parts }) => closed([...parts, field(disposition('; name="x"'), '\r\n--'.repeat(100_000))]),
  'nearly the delimiter, again and again': ({ parts }) =>
    closed([...parts, field(disposition('; name="x"'), `\r\n${DELIMITER.slice(0, -1)}`.repeat(20_000))]),
};

const TYPES: readonly string[] = [
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=""',
  `multipart/form-data; boundary="${BOUNDARY}`,
  `multipart/form-data; boundary=${'b'.repeat(5_000)}`,
  'multipart/form-data; boundary=another',
  `multipart/form-data; boundary=another; boundary=${BOUNDARY}`,
  `multipart/form-data; boundary*=UTF-8''${BOUNDARY}`,
  `multipart/form-data; charset=x-none; boundary=${BOUNDARY}`,
  `MULTIPART/FORM-DATA; BOUNDARY="${BOUNDARY}"`,
  `multipart/mixed; boundary=${BOUNDARY}`,
  `multipart/form-data, application/json; boundary=${BOUNDARY}`,
  'application/x-www-form-urlencoded',
  'application/json',
  'text/plain',
  '*/*',
  '',
];

export const HOSTILE_FORMS: readonly HostileForm[] = [
  ...Object.entries(BODIES).map(([name, body]) => ({ name, type: TYPE, body })),
  ...TYPES.map((type) => ({ name: `the type ${JSON.stringify(type.slice(0, 60))}`, type, body: whole })),
];

/** The parts of a form that was written with this boundary. */
export const partsOf = (body: Buffer, boundary: string): FormParts => ({
  parts: body
    .toString('latin1')
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => part.slice(2, -2)),
});
