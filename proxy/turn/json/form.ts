// The parts of a multipart form: held in memory whole, or streaming through with the bytes of its file unread.

export interface FormField {
  readonly kind: 'field';
  readonly name: string;
  readonly value: string;
}

/** The head of a part with a file name, or of the type application/octet-stream. */
export interface FileHead {
  readonly kind: 'file';
  readonly name: string;
  /** Without a path, as the client wrote it. Must not be logged; empty or missing if the client named none. */
  readonly filename: string | undefined;
  /** The media type that the client stated. */
  readonly mediaType: string;
}

export interface FormFile extends FileHead {
  readonly bytes: Buffer;
}

/** A part of a form that streams through: a field is whole, the bytes of a file follow its head unread. */
export type StreamedPart = FormField | FileHead;

/** In the order of the form. */
export type FormPart = FormField | FormFile;
