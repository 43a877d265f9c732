// The files of agent backends: created, sent to an address that the account names, and finalised there (C1, C2, Q21).
import { asString, type Json } from '../../turn/json/json.ts';
import type { ProviderFiles } from '../../turn/provider/reads.ts';

/** A path segment, so that the id needs no escapes in a path, and names nothing else there. */
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
