// The transcription of a simulated account: checks the form as a strict provider does, and answers with a transcript.
import type { Manners } from '../account/manners.ts';
import { type Answer, jsonAnswer } from '../delivery/answer.ts';
import { ProviderError } from '../provider-error.ts';
import type { ReceivedRequest } from '../received-request.ts';

const MODEL = 'gpt-4o-transcribe';
const FIELDS: ReadonlySet<string> = new Set(['model', 'language', 'prompt', 'response_format', 'temperature', 'keywords', 'languages']);

/** The transcript repeats the request's fields, so that a person can see that they arrived. */
export async function transcript(request: ReceivedRequest, { unnamedTranscription }: Manners): Promise<Answer> {
  const form = await formOf(request);
  const file = form.get('file');
  if (!(file instanceof File)) throw refusal('file', 'The form has no file.', 'missing_required_parameter');
  const named = form.getAll('model');
  if (!(unnamedTranscription && named.length === 0) && named.join() !== MODEL)
    throw refusal('model', 'The form must name the transcription model once.');
  for (const [name, value] of form) {
    const bare = name.replace(/\[\]$/, '');
    if (name !== 'file' && !FIELDS.has(bare)) throw refusal(name, `Unsupported parameter: ${name}`, 'unsupported_parameter');
    if (bare !== name && value === '' && form.getAll(name).length === 1) throw refusal(name, 'An empty list must be omitted.');
  }
  const text = `a transcript of ${file.size} bytes`;
  if (form.get('response_format') === 'text') {
    return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: { kind: 'bytes', bytes: Buffer.from(text) } };
  }
  if (unnamedTranscription) return jsonAnswer(200, { text });
  const usage = { type: 'tokens', input_tokens: 14, output_tokens: 6, total_tokens: 20 };
  return jsonAnswer(200, { text, language: 'en', languages: ['en'], detected_language: 'en', language_probability: 0.99, usage });
}

async function formOf({ body, headers }: ReceivedRequest): Promise<FormData> {
  const type = headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data')) throw new ProviderError(415, 'unsupported_media_type', 'A transcription is a form.');
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  } catch {
    throw new ProviderError(400, 'invalid_value', 'The form could not be read.');
  }
}

const refusal = (param: string, message: string, code = 'invalid_value'): ProviderError => new ProviderError(400, code, message, param);
