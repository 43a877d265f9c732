// The files of a simulated account. A file is created, uploaded to an address of the account, and ready at the second request to finalise
// it.
import { asString, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { jsonAnswer, type SimulatedAnswer } from '../delivery/answer.ts';
import { SimulatedError } from '../provider-error.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { missingParameter } from '../request-refusals.ts';
import type { Manners } from './manners.ts';

/** One file, with the names that its creation uses. */
interface SimulatedFile {
  readonly name: string;
  readonly size: number;
  /** Undefined until the bytes have come. */
  uploaded: { readonly type: string; readonly bytes: number } | undefined;
  /** How often the client asked whether the file is ready. It is not ready at the first time. */
  asked: number;
}

/** Has the files by id. The id is also the last path segment of the upload address. */
export class SimulatedFiles {
  readonly #byId = new Map<string, SimulatedFile>();

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Adds a file whose bytes came with its creation. */
  add(id: string, { name, size, type }: { readonly name: string; readonly size: number; readonly type: string }): void {
    this.#byId.set(id, { name, size, uploaded: { type, bytes: size }, asked: 0 });
  }

  /** `POST /backend-api/files`. */
  create({ headers, json }: ReceivedRequest, id: string): SimulatedAnswer {
    const { file_name, file_size, use_case } = isObject(json) ? json : {};
    if (typeof file_name !== 'string' || file_name === '') throw missingParameter('file_name');
    if (typeof file_size !== 'number') throw missingParameter('file_size');
    if (typeof use_case !== 'string') throw missingParameter('use_case');
    this.#byId.set(id, { name: file_name, size: file_size, uploaded: undefined, asked: 0 });
    const uploadUrl = `http://${headers.host}${UPLOADS}${id}?signature=${id}`;
    return jsonAnswer(200, { status: 'success', file_id: id, upload_url: uploadUrl });
  }

  /** `PUT` of the bytes, as a storage service accepts them: the address is the only credential. */
  upload(request: ReceivedRequest, { blobUploads }: Manners): SimulatedAnswer {
    if (blobUploads && request.headers['x-ms-blob-type'] !== 'BlockBlob')
      throw new SimulatedError(400, 'MissingRequiredHeader', 'An HTTP header that is mandatory for this request is not specified.', null);
    const file = this.#file(request.path.slice(UPLOADS.length));
    if (request.headers.authorization !== undefined) throw new SimulatedError(400, 'invalid_value', 'An upload carries no credential.');
    if (request.body.length !== file.size) throw new SimulatedError(400, 'invalid_value', 'The upload has another size than the file.');
    file.uploaded = { type: request.headers['content-type'] ?? 'application/octet-stream', bytes: request.body.length };
    return { status: 201, headers: {}, body: { kind: 'bytes', bytes: Buffer.alloc(0) } };
  }

  /** `POST /backend-api/files/{file_id}/uploaded`. */
  finish({ path }: ReceivedRequest): SimulatedAnswer {
    const id = path.slice(FILES.length, -FINISH.length);
    const file = this.#file(id);
    return jsonAnswer(200, file.uploaded ? this.#finished(id, file, file.uploaded) : { status: 'error', error_code: 'not_uploaded' });
  }

  #finished(id: string, file: SimulatedFile, { type, bytes }: NonNullable<SimulatedFile['uploaded']>): JsonObject {
    file.asked += 1;
    if (file.asked === 1) return { status: 'retry' };
    return {
      status: 'success',
      download_url: `https://files.example/${id}`,
      file_name: file.name,
      mime_type: type,
      file_size_bytes: bytes,
    };
  }

  #file(id: string): SimulatedFile {
    const file = this.#byId.get(id);
    if (!file) throw new SimulatedError(404, 'file_not_found', 'There is no such file.');
    return file;
  }
}

export const FILES = '/backend-api/files/';
export const FINISH = '/uploaded';
export const UPLOADS = '/rehearsal-uploads/';

/** The ids of files that the input names, with their paths. */
export function* filesIn(value: Json | undefined, path: string): Generator<{ readonly id: string; readonly path: string }> {
  if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* filesIn(item as Json, `${path}.${i}`);
  else if (isObject(value)) {
    const id = asString(value.file_id);
    if (id !== undefined) yield { id, path: `${path}.file_id` };
    for (const member of ['content', 'output']) yield* filesIn(value[member], `${path}.${member}`);
  }
}
