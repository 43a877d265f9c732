// Compresses the text of one tool output (F7.3). The result depends on that text alone, so that every turn of a conversation sends the same
// bytes. A second compression changes nothing.
import { parsedObject } from '../../proxy/turn/json/json.ts';
import { compressDiff } from './diff-output.ts';
import { compressLog } from './log-output.ts';
import { compressSearch } from './search-results.ts';
import { isStep, type Steps } from './steps.ts';

/** A text with more lines is left as it is, which bounds the time for one text. */
const MOST_LINES = 30_000;
/** A result that is longer than this share of its text is discarded. */
const WORTHWHILE = 0.95;
/** The first line of every result. */
const COMPRESSED = /^\[compressed (?:search results|diff|log): /;
/** What native clients write above the output of a command: its exit code, its duration. */
const COMMAND_HEADER =
  /^(?:(?:Chunk ID|Wall time|Exit code|Process exited with code|Process running with session ID|Original token count|Total output lines)[^\n]*\n){1,8}(?:Output:\n)?\n?/;
/** Members of a JSON text that hold the output of a command. */
const OUTPUT_MEMBERS: ReadonlySet<string> = new Set(['output', 'stdout', 'stderr', 'aggregated_output']);

/** The text itself if nothing can be left out. */
export function* compressText(text: string): Steps<string> {
  if (text.startsWith('{')) return yield* compressJson(text);
  const header = COMMAND_HEADER.exec(text)?.[0] ?? '';
  const output = text.slice(header.length);
  const compressed = yield* compressOutput(output);
  return compressed === undefined ? text : header + compressed;
}

/** `{"output": …, "metadata": …}`: the form in which some clients send what a command printed. */
function* compressJson(text: string): Steps<string> {
  if (parsedObject(text) === undefined) return text;
  let result = '';
  let copied = 0;
  for (const [name, { start, end }] of yield* stringMembers(text)) {
    const compressed = OUTPUT_MEMBERS.has(name) ? yield* compressOutput(JSON.parse(text.slice(start, end)) as string) : undefined;
    if (compressed === undefined) continue;
    result += text.slice(copied, start) + JSON.stringify(compressed);
    copied = end;
  }
  return result + text.slice(copied);
}

function* compressOutput(text: string): Steps<string | undefined> {
  if (COMPRESSED.test(text) || hasMoreLines(text, MOST_LINES)) return undefined;
  const hasHunk = text.startsWith('@@') || text.includes('\n@@');
  const lines = text.split('\n');
  const shorter =
    (hasHunk ? yield* compressDiff(lines) : undefined) ??
    (yield* compressSearch(lines, text.includes('\0'))) ??
    (yield* compressLog(lines, text.includes('\x1b') || text.includes('\r')));
  const compressed = shorter?.join('\n');
  return compressed !== undefined && compressed.length <= text.length * WORTHWHILE ? compressed : undefined;
}

function hasMoreLines(text: string, most: number): boolean {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) if (++lines > most) return true;
  return false;
}

/** A member whose value is a string: the range from the opening quote of the value to the position after the closing one. */
interface ValueRange {
  readonly start: number;
  readonly end: number;
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]/g;

/** @param text a valid JSON object. The last value of a repeated name counts, as in a parser */
function* stringMembers(text: string): Steps<ReadonlyMap<string, ValueRange>> {
  const members = new Map<string, ValueRange>();
  let depth = 0;
  let name = '';
  let before = '';
  let tokens = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else if (depth === 1 && token.startsWith('"')) {
      if (before === ':') members.set(name, { start: index, end: index + token.length });
      else {
        name = JSON.parse(token) as string;
        members.delete(name);
      }
    }
    before = token;
    if (isStep(tokens++)) yield;
  }
  return members;
}
