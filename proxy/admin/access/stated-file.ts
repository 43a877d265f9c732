// The configuration file that a command states. A gateway with another file refuses requests about the file.
import { realpath } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';

/** The header with the absolute path of the file, percent-encoded. */
export const FILE_HEADER = 'x-poolgate-config';

/** The reason of the refusal. Undefined if the caller states this file, or none, as pages do. */
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

/** Resolves links, because several may lead to one file. */
const real = (path: string): Promise<string> => realpath(path).catch(() => path);
