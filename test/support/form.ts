// Multipart bodies for tests. They are made from parts, as bytes that a test can cut and change.

export interface Part {
  readonly name: string;
  readonly value: string | Buffer;
  readonly filename?: string;
  readonly type?: string;
}

export const BOUNDARY = '----form-of-a-test';
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

export const headOfPart = ({ name, filename, type }: Omit<Part, 'value'>): string =>
  `Content-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n${
    type === undefined ? '' : `Content-Type: ${type}\r\n`
  }\r\n`;

export function formOf(parts: readonly Part[], boundary = BOUNDARY): Buffer {
  const written = parts.flatMap((part) => [`--${boundary}\r\n${headOfPart(part)}`, part.value, '\r\n']);
  return Buffer.concat([...written, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece as string)));
}
