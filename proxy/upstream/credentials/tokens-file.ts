// Reads the operator's file with the tokens of an account.
import { readFile, stat } from 'node:fs/promises';
import { fileTokens, type Tokens } from './tokens.ts';

/** Undefined if the file has no tokens. It may be missing or half written. No parser error is reported, because it would quote the file. */
export async function tokensInFile(path: string, now: number): Promise<Tokens | undefined> {
  try {
    return fileTokens(JSON.parse(await readFile(path, 'utf8')), now);
  } catch {
    return undefined;
  }
}

/** When the file was written, in Unix milliseconds; undefined if it is missing. */
export async function writtenAt(path: string): Promise<number | undefined> {
  try {
    return Math.floor((await stat(path)).mtimeMs);
  } catch {
    return undefined;
  }
}
