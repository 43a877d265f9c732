// The file object of the compatible surface (Q21).
import type { FileRow } from '../../store/store.ts';
import type { JsonObject } from '../turn/json/json.ts';

export const fileObject = ({ id, bytes, created_at, expires_at, filename, purpose, status }: FileRow): JsonObject => ({
  id,
  object: 'file',
  bytes,
  created_at: seconds(created_at),
  expires_at: expires_at === null ? null : seconds(expires_at),
  filename,
  purpose,
  status,
});

const seconds = (ms: number): number => Math.floor(ms / 1000);
