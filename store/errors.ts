// What the store tells its callers when it cannot do what they asked: a code, and a message that holds no row.

export type StoreErrorCode =
  | 'bad_url' // no adapter for this `store:` value
  | 'not_writable' // folder or file cannot be made or written
  | 'corrupt' // the file is no database, or a damaged one
  | 'too_new' // a newer poolgate has migrated it
  | 'locked' // somebody else holds it for longer than we wait
  | 'full' // no space left
  | 'bad_row' // this very row can never be written; waiting does not help
  | 'failed' // anything else; may pass
  | 'closed';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
