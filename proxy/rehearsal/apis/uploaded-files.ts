// The files of a simulated Responses platform. One form creates a file with its bytes.
import type { SimulatedFiles } from '../account/simulated-files.ts';
import { jsonAnswer, type SimulatedAnswer } from '../delivery/answer.ts';
import { SimulatedError } from '../provider-error.ts';
import { formOf } from '../received-form.ts';
import type { ReceivedRequest } from '../received-request.ts';

const PURPOSES: ReadonlySet<unknown> = new Set(['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals']);

/** `POST /files`. @param now Unix milliseconds @throws ProviderError for a form without a file or purpose, or with another field */
export async function uploadedFile(request: ReceivedRequest, files: SimulatedFiles, id: string, now: number): Promise<SimulatedAnswer> {
  const form = await formOf(request);
  const [file, purpose] = [form.get('file'), form.get('purpose')];
  if (!(file instanceof File)) throw missing('file');
  if (purpose === null) throw missing('purpose');
  if (!PURPOSES.has(purpose)) throw new SimulatedError(400, 'invalid_value', "Invalid value for 'purpose'.", 'purpose');
  for (const name of form.keys()) {
    if (name !== 'file' && name !== 'purpose') throw new SimulatedError(400, 'unknown_parameter', `Unknown parameter: '${name}'.`, name);
  }
  files.add(id, { name: file.name, size: file.size, type: file.type });
  const created = Math.floor(now / 1000);
  return jsonAnswer(200, {
    id,
    object: 'file',
    bytes: file.size,
    created_at: created,
    filename: file.name,
    purpose: String(purpose),
    status: 'processed',
  });
}

const missing = (param: string): SimulatedError =>
  new SimulatedError(400, 'missing_required_parameter', `Missing required parameter: '${param}'.`, param);
