// What follows requests for files: the row with the file's account, the upload of its bytes, and its finalisation.
import type { FileRow } from '../../store/store.ts';
import { FailedFollowUp, type FollowedAnswer, type FollowUp, type FollowUps } from '../dispatch/follow-up.ts';
import { asString, type JsonObject } from '../turn/json/json.ts';
import { fileType } from '../turn/json/media-type.ts';
import type { ProviderFiles } from '../turn/provider/reads.ts';
import type { UpstreamErrorClass } from '../turn/turn.ts';
import { fileObject } from './file-object.ts';
import type { Files } from './files.ts';
import type { Finalisation, Finalising } from './finalisation.ts';
import { uploadBytes } from './upload-bytes.ts';
import { uploadTarget } from './upload-target.ts';

export interface FileFollowUpOptions {
  readonly files: Files;
  readonly finalisation: Finalisation;
}

/** The time after which a file that is not finalised is forgotten. Its upload address has expired long before. */
const UNFINISHED_MS = 86_400_000;

export function fileFollowUps(options: FileFollowUpOptions): FollowUps {
  return {
    'file-create': (followed) => created(followed, options),
    'file-finish': (followed) => finished(followed, options),
    'public-file-create': (followed) => uploaded(followed, options),
  };
}

/** `POST /backend-api/files`: the client gets the account's answer after the store has recorded the owner (C1). */
async function created(followed: FollowedAnswer, { files }: FileFollowUpOptions): ReturnType<FollowUp> {
  await files.save(newRow(followed));
  return followed.answer;
}

/** `POST /backend-api/files/{file_id}/uploaded`: the file is finalised (C2). */
async function finished(followed: FollowedAnswer, { files, finalisation }: FileFollowUpOptions): ReturnType<FollowUp> {
  const { turn, answer } = followed;
  const fileId = turn.params.file_id ?? '';
  const { upload } = filesOf(followed);
  if (!upload) return answer;
  const last = await finalisation.finalise(finalising(followed, upload, fileId), answer).catch(failed);
  const row = await files.read(turn.pool.id, fileId);
  if (row) await files.save(finalisedRow(row, last, followed));
  return last;
}

/**
 * `POST /v1/files`: the bytes are sent to the address that the account named, unless the account has them already. The client gets the file
 * object (D7). The address is not stored.
 */
async function uploaded(followed: FollowedAnswer, { files, finalisation }: FileFollowUpOptions): ReturnType<FollowUp> {
  const row = newRow(followed);
  const { upload } = filesOf(followed);
  if (!upload) {
    const whole = finalisedRow(row, followed.answer, followed);
    await files.save(whole);
    return fileObject(whole);
  }
  await sendBytes(followed, upload);
  const last = await finalisation.finalise(finalising(followed, upload, row.id)).catch(failed);
  const status = upload.finalisedOf(last);
  if (status === 'retry') {
    throw new FailedFollowUp('upstream_timeout', 'upstream_timeout', { message: 'The provider took too long to process the file.' });
  }
  if (status !== 'success') throw upstreamError('upstream_refusal');
  const whole = finalisedRow(row, last, followed);
  await files.save(whole);
  return fileObject(whole);
}

type Upload = NonNullable<ProviderFiles['upload']>;

/** The file functions of the account's API. Requests for files are only sent to accounts whose API has them. */
function filesOf({ provider }: FollowedAnswer): ProviderFiles {
  if (!provider.files) throw new Error('a file at an account that keeps none');
  return provider.files;
}

function finalising({ turn, account, upstream, signal }: FollowedAnswer, upload: Upload, fileId: string): Finalising {
  const to = { account, upstream, loaded: turn.generation.loaded };
  return { to, path: upload.finalisePath(fileId, turn.wire), finalisedOf: upload.finalisedOf, clock: turn, signal };
}

async function sendBytes(followed: FollowedAnswer, upload: Upload): Promise<void> {
  const { upstream, work, answer, signal } = followed;
  const { file } = work;
  if (!file) throw new Error('a file without bytes');
  const written = upload.targetOf(answer);
  const route = URL.canParse(written) ? upstream.routeTo(written) : undefined;
  const target = await uploadTarget(written, upstream.url, { isProxied: route?.isProxied ?? false });
  if (!target) throw upstreamError('upstream_malformed');
  const { connectMs, firstByteMs: ms } = upstream.timeouts;
  const sent = { bytes: file.bytes, type: fileType(file.mediaType), connectMs, ms, signal, route };
  const status = await uploadBytes(target, sent).catch(failed);
  if (status < 200 || status >= 300) throw upstreamError('upstream_status');
}

/** @throws Refusal `upstream_error` if the account's id for the file cannot be used */
function newRow(followed: FollowedAnswer): FileRow {
  const { turn, account, work, answer } = followed;
  const id = filesOf(followed).idOf(answer);
  if (id === undefined) throw upstreamError('upstream_malformed');
  const { file_name, file_size, use_case } = work.body;
  const created_at = turn.wallTime();
  return {
    pool: turn.pool.id,
    id,
    account: account.id,
    filename: asString(file_name) ?? '',
    bytes: Number(file_size),
    purpose: asString(use_case) ?? 'user_data',
    status: 'uploaded',
    created_at,
    expires_at: created_at + UNFINISHED_MS,
  };
}

function finalisedRow(row: FileRow, answer: JsonObject, followed: FollowedAnswer): FileRow {
  const { upload, sizeOf, expiryOf } = filesOf(followed);
  // An account that took the bytes with the request needs no finalisation.
  const status = upload ? upload.finalisedOf(answer) : 'success';
  if (status === 'success') return { ...row, status: 'processed', bytes: sizeOf(answer) ?? row.bytes, expires_at: expiryOf(answer) };
  return status === 'error' ? { ...row, status: 'error' } : row;
}

/** Only the kind of the error is reported, because a network error may repeat the address. */
function failed(thrown: unknown): never {
  throw upstreamError(thrown instanceof Error && thrown.name === 'TimeoutError' ? 'upstream_timeout' : 'upstream_network');
}

const upstreamError = (why: UpstreamErrorClass): FailedFollowUp =>
  new FailedFollowUp(why === 'upstream_timeout' ? why : 'upstream_error', why);
