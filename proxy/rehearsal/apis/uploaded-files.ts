// The files of a simulated Responses platform. One form creates a file with its bytes.
import type { SimulatedFiles } from '../account/simulated-files.ts';
import { jsonAnswer, type SimulatedAnswer } from '../delivery/answer.ts';
import { formOf } from '../received-form.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { missingParameter, refusedValue, unknownParameter } from '../request-refusals.ts';

const PURPOSES: ReadonlySet<unknown> = new Set(['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals']);

/** `POST /files`. @param now Unix milliseconds @throws SimulatedError for a form without a file or purpose, or with another field */
export async function uploadedFile(request: ReceivedRequest, files: SimulatedFiles, id: string, now: number): Promise<SimulatedAnswer> {
  const form = await formOf(request);
  const [file, purpose] = [form.get('file'), form.get('purpose')];
  if (!(file instanceof File)) throw missingParameter('file');
  if (purpose === null) throw missingParameter('purpose');
  if (!PURPOSES.has(purpose)) throw refusedValue('purpose', "Invalid value for 'purpose'.");
  for (const name of form.keys()) {
    if (name !== 'file' && name !== 'purpose') throw unknownParameter(name);
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
