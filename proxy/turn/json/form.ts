// The parts of a multipart form, either held in memory whole, or passed on as a stream whose file is not read.

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

/** A part of a form that is passed on as a stream: a whole field, or the head of a file whose bytes follow unread. */
export type StreamedPart = FormField | FileHead;

/** A part of a form that is held in memory. */
export type FormPart = FormField | FormFile;
