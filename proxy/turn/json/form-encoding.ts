// Encodes the parts of a multipart form under one boundary (RFC 7578).

export class FormEncoding {
  readonly boundary: string;

  constructor(boundary: string) {
    this.boundary = boundary;
  }

  get contentType(): string {
    return `multipart/form-data; boundary=${this.boundary}`;
  }

  field(name: string, value: string): Buffer {
    return Buffer.from(`--${this.boundary}\r\n${disposition(name)}\r\n\r\n${value}\r\n`);
  }

  /** The head of a file part; the bytes of the file and a line break follow. */
  fileHead(name: string, filename: string | undefined, mediaType: string): Buffer {
    const named = filename === undefined ? '' : `; filename="${escaped(filename)}"`;
    return Buffer.from(`--${this.boundary}\r\n${disposition(name)}${named}\r\nContent-Type: ${escaped(mediaType)}\r\n\r\n`);
  }

  get end(): Buffer {
    return Buffer.from(`--${this.boundary}--\r\n`);
  }
}

export const LINE_BREAK = Buffer.from('\r\n');

const disposition = (name: string): string => `Content-Disposition: form-data; name="${escaped(name)}"`;

/** As browsers write names: a quote or a line break in one would end its header. */
const escaped = (text: string): string => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
