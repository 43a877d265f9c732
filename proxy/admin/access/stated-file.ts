// The configuration file that a command states: a gateway on another one refuses what is about the file.
import { realpath } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';

/** Its absolute path, percent-encoded. */
export const FILE_HEADER = 'x-poolgate-config';

/** The reason of the refusal; undefined where the caller states none, as pages do, or this one. */
export async function otherFile(headers: IncomingHttpHeaders, path: string): Promise<string | undefined> {
  const { [FILE_HEADER]: header } = headers;
  if (typeof header !== 'string') return undefined;
  const stated = decoded(header);
  if (stated === path || (stated !== undefined && (await real(stated)) === (await real(path)))) return undefined;
  return `this gateway runs on ${path}, not on ${stated ?? 'the stated file'}: name its file with --config`;
}

function decoded(header: string): string | undefined {
  try {
    return decodeURIComponent(header);
  } catch {
    return undefined;
  }
}

/** Links lead to one file. */
const real = (path: string): Promise<string> => realpath(path).catch(() => path);
