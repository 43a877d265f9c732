// Failures of the store: a code, and a message without any data of rows.

export type StoreErrorCode =
  | 'bad_url' // no adapter for this `store:` value
  | 'not_writable' // folder or file cannot be made or written
  | 'corrupt' // the file is not a database, is damaged, or has a value of the wrong type
  | 'too_new' // a newer poolgate has migrated it
  | 'locked' // another process held the lock for longer than the limit
  | 'full' // no space left
  | 'unreachable' // the database server cannot be reached, or does not answer
  | 'not_empty' // the destination of a copy has rows
  | 'other_secret' // the other nodes on this database have another secret
  | 'busy' // the database server took longer than the deadline, or has no connection free
  | 'refused' // the database server refuses the user, the password, the database or the TLS of the URL
  | 'lost' // the lease of a guarded write was lost: nothing was written
  | 'bad_row' // this row can never be written; trying again does not help
  | 'failed' // any other failure; it may be temporary
  | 'closed';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
