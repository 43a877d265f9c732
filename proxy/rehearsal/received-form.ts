// Reads the multipart form of a request.
import { SimulatedError } from './provider-error.ts';
import type { ReceivedRequest } from './received-request.ts';

/** @throws SimulatedError if the body is not a form */
export async function formOf({ body, headers }: ReceivedRequest): Promise<FormData> {
  const type = headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data')) throw new SimulatedError(415, 'unsupported_media_type', 'The request is a form.');
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  } catch {
    throw new SimulatedError(400, 'invalid_value', 'The form could not be read.');
  }
}
