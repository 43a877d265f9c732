// The parts of a multipart form that is held in memory.

export interface FormField {
  readonly kind: 'field';
  readonly name: string;
  readonly value: string;
}

/** A part with a file name, or of the type application/octet-stream. */
export interface FormFile {
  readonly kind: 'file';
  readonly name: string;
  /** Without a path, as the client wrote it. Must not be logged; empty or missing where the client named none. */
  readonly filename: string | undefined;
  /** As the client stated it. */
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** In the order of the form. */
export type FormPart = FormField | FormFile;
