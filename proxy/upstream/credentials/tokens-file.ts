// The operator's file with the tokens of an account.
import { readFile, stat } from 'node:fs/promises';
import { type Tokens, tokensIn } from './tokens.ts';

/** Undefined if the file has no tokens: it may be missing or half written, and the parser's message would quote it. */
export async function tokensInFile(path: string, now: number): Promise<Tokens | undefined> {
  try {
    return tokensIn(JSON.parse(await readFile(path, 'utf8')), now);
  } catch {
    return undefined;
  }
}

/** Unix milliseconds; undefined if there is no such file. */
export async function writtenAt(path: string): Promise<number | undefined> {
  try {
    return Math.floor((await stat(path)).mtimeMs);
  } catch {
    return undefined;
  }
}
