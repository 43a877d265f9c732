// Embeddings at API accounts. The client's body is sent with the account's own id of the model (AA80).
import { encodeJson } from '../../turn/json/encode-body.ts';
import type { EncodedAttempt, EncodedRequest } from '../../turn/provider/provider-requests.ts';
import type { Outgoing } from '../../turn/turn.ts';
import { apiHeaders } from './request-headers.ts';

export function embeddingRequest(out: Outgoing, context: EncodedAttempt): EncodedRequest {
  const { contentType, bytes } = encodeJson(out.body);
  const headers = apiHeaders(out, context, { 'content-type': contentType, accept: 'application/json' });
  return { method: 'POST', path: '/embeddings', headers, body: bytes };
}
