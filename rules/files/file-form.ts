// Reads the file and the purpose from an upload's form, and makes from them the metadata that is sent to the account (D7, Q21).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { safeParam } from '../../proxy/turn/errors/sanitise.ts';
import type { FormFile, FormPart } from '../../proxy/turn/json/form.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { isFileName, isPurpose } from './file-metadata.ts';

export const fileForm = rule({
  name: 'file-form',
  routes: ['public-file-create'],
  request(work, { limits }) {
    const file = fileOf(work.form ?? []);
    if (file.bytes.length > limits.file_bytes) throw new Refusal('request_too_large', { param: 'file' });
    const purpose = purposeOf(work.form ?? []);
    work.body = { file_name: file.filename ?? '', file_size: file.bytes.length, use_case: purpose };
    work.file = file;
  },
});

function fileOf(form: readonly FormPart[]): FormFile {
  const other = form.find(({ name }) => name !== 'file' && name !== 'purpose');
  if (other) {
    // The name is a client's text. It is repeated only if it is a plain path.
    const param = safeParam(other.name);
    throw new Refusal('unsupported_parameter', param === null ? {} : { param });
  }
  const [file, second] = form.filter(({ name }) => name === 'file');
  if (file?.kind !== 'file') throw invalidRequest('file', 'must be an uploaded file');
  if (second) throw invalidRequest('file', 'must be one file');
  if (!isFileName(file.filename)) throw invalidRequest('file', 'must have a file name');
  if (file.bytes.length === 0) throw invalidRequest('file', 'is empty');
  return file;
}

function purposeOf(form: readonly FormPart[]): string {
  const [purpose, second] = form.filter(({ name }) => name === 'purpose');
  if (second) throw invalidRequest('purpose', 'must be one word');
  const value = purpose?.kind === 'field' ? purpose.value : undefined;
  if (!isPurpose(value)) throw invalidRequest('purpose', 'is required, and must be one word');
  return value;
}
