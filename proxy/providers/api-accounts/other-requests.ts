// The requests to API accounts that are not turns: embeddings (AA80), and transcriptions with the fields that their API has (AA36).
import { encodeJson } from '../../turn/json/encode-body.ts';
import type { FormField } from '../../turn/json/form.ts';
import type { EncodedAttempt, EncodedRequest, RequestHead } from '../../turn/provider/provider-requests.ts';
import type { Outgoing } from '../../turn/turn.ts';
import { apiHeaders } from './request-headers.ts';

/** Whether a field is a list of hints. Only agent backends take them. */
const isHint = (name: string): boolean => /^(?:keywords|languages)(?:\[\])?$/.test(name);

/** The body of the request streams through: of its hints those are named that came before the file. */
export function transcriptionHead(out: Outgoing, context: EncodedAttempt): RequestHead {
  const { hints, method } = context.turn;
  const headers = apiHeaders(out, context, { accept: 'application/json' });
  return { method, path: '/audio/transcriptions', headers, ...(hints.length > 0 && { adapted: hints.toSorted() }) };
}

/** The model by the account's own name, and no hints. */
export function transcriptionField(field: FormField, { account: { models } }: Pick<EncodedAttempt, 'account'>): readonly FormField[] {
  const { name, value } = field;
  if (isHint(name)) return [];
  return name === 'model' && Object.hasOwn(models, value) ? [{ ...field, value: models[value] ?? value }] : [field];
}

/** The client's body is sent with the account's own id of the model (AA80). */
export function embeddingRequest(out: Outgoing, context: EncodedAttempt): EncodedRequest {
  const { contentType, bytes } = encodeJson(out.body);
  const headers = apiHeaders(out, context, { 'content-type': contentType, accept: 'application/json' });
  return { method: 'POST', path: '/embeddings', headers, body: bytes };
}
