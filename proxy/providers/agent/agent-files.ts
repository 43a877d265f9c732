// The files of agent backends. A file is created, sent to an address that the account states, and finalised at the account (C1, C2, Q21).
import { asString, type Json } from '../../turn/json/json.ts';
import type { ProviderFiles } from '../../turn/provider/reads.ts';

/** A file id that can be used as a path segment without escapes. */
const FILE_ID = /^[\w-]{1,200}$/;

export const agentFiles: ProviderFiles = {
  idOf({ file_id }) {
    const id = asString(file_id);
    return id !== undefined && FILE_ID.test(id) ? id : undefined;
  },
  sizeOf: ({ file_size_bytes }) => wholeNumber(file_size_bytes),
  expiryOf: ({ expires_at }) => (wholeNumber(expires_at) === undefined ? null : (expires_at as number) * 1000),
  upload: {
    targetOf: ({ upload_url }) => asString(upload_url) ?? '',
    finalisePath: (fileId) => `/backend-api/files/${fileId}/uploaded`,
    finalisedOf: ({ status }) => (status === 'success' || status === 'retry' || status === 'error' ? status : undefined),
  },
};

const wholeNumber = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
