// The transcription of a simulated account: checks the form as a strict provider does, and answers with a transcript.
import { jsonAnswer, type SimulatedAnswer } from '../delivery/answer.ts';
import { formOf } from '../received-form.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { refusedValue } from '../request-refusals.ts';

const FIELDS: ReadonlySet<string> = new Set(['model', 'language', 'prompt', 'response_format', 'temperature', 'keywords', 'languages']);

/** What a provider takes in the form, and how it answers. */
export interface TranscriptionManner {
  readonly models: readonly string[];
  /** Whether the form may name no model. The answer is then only the text (RB40). */
  readonly unnamed: boolean;
  /** Fields that only other providers take. */
  readonly unknown: readonly string[];
}

/** The transcript says how many bytes it is of, so that a person can see that they arrived. @throws SimulatedError */
export async function transcript(request: ReceivedRequest, { models, unnamed, unknown }: TranscriptionManner): Promise<SimulatedAnswer> {
  const form = await formOf(request);
  const file = form.get('file');
  if (!(file instanceof File)) throw refusedValue('file', 'The form has no file.', 'missing_required_parameter');
  const named = form.getAll('model');
  if (!(unnamed && named.length === 0) && !(named.length === 1 && models.includes(String(named[0]))))
    throw refusedValue('model', 'The form must name the transcription model once.');
  for (const [name, value] of form) {
    const bare = name.replace(/\[\]$/, '');
    if (name !== 'file' && (!FIELDS.has(bare) || unknown.includes(bare)))
      throw refusedValue(name, `Unsupported parameter: ${name}`, 'unsupported_parameter');
    if (bare !== name && value === '' && form.getAll(name).length === 1) throw refusedValue(name, 'An empty list must be omitted.');
  }
  const text = `a transcript of ${file.size} bytes`;
  if (form.get('response_format') === 'text') {
    return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: { kind: 'bytes', bytes: Buffer.from(text) } };
  }
  if (unnamed) return jsonAnswer(200, { text });
  const usage = { type: 'tokens', input_tokens: 14, output_tokens: 6, total_tokens: 20 };
  return jsonAnswer(200, { text, language: 'en', languages: ['en'], detected_language: 'en', language_probability: 0.99, usage });
}
