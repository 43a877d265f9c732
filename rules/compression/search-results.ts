// Compresses search results (F7.3): matches are grouped under their file, and repeated texts are left out.
import { isPathLike } from './path-like.ts';
import { isStep, type Steps } from './steps.ts';

/** A match or a line of context. */
interface Result {
  readonly path: string;
  /** The line after its path: `12:text`, `12:5:text`, or `12-text` for a line of context. */
  readonly rest: string;
  /** Where the text begins in `rest`. */
  readonly textAt: number;
  readonly hasColumn: boolean;
  readonly isMatch: boolean;
}

/** One line of the results. */
type Line = Result | { readonly path: undefined; readonly text: string };

const MOST_DIGITS = 9;
/** The most dashes of a line of context that are tried as the end of its path. */
const MOST_DASHES = 32;
const COLON = 58;
const DASH = 45;
const FEWEST_MATCHES = 4;
/** The share of lines that must be results for a text to be a list of results. */
const LEAST_SHARE = 2 / 3;
const SAMPLE_LINES = 48;
/**
 * How many matches of one file keep their text, in a short list of results and in the rest of a long one. Further matches keep only their
 * line numbers.
 */
const TEXTS_PER_FILE = 20;
const LATER_TEXTS_PER_FILE = 3;
/** The number of results after which the rest of a long list begins. */
const FIRST_RESULTS = 120;
const LONGEST_TEXT = 400;
const KEPT_HEAD = 240;
const KEPT_TAIL = 80;
/** Matches a text that may report a failure, which is kept whole. */
const FAILURE = /\b(?:error|errors|fail|fails|failed|failure|failures|fatal|panic|panicked|exception|warning|assert\w*)\b/i;

/** Undefined if the lines are not search results, or are malformed. */
export function* compressSearch(lines: readonly string[], hasNul: boolean): Steps<readonly string[] | undefined> {
  const results = hasNul ? yield* nulResults(lines) : ((yield* flatResults(lines)) ?? (yield* headedResults(lines)));
  return results && (yield* grouped(results));
}

/** Reads `path NUL line[:column]: text` in every line. A text with one malformed line is no list of results (F7.3). */
function* nulResults(lines: readonly string[]): Steps<readonly Line[] | undefined> {
  const results: Line[] = [];
  let matches = 0;
  for (const [i, line] of lines.entries()) {
    if (isStep(i)) yield;
    const nul = line.indexOf('\0');
    if (nul === -1) {
      if (line !== '' && line !== '--') return undefined;
      results.push({ path: undefined, text: line });
      continue;
    }
    const result = resultOf(line, nul);
    if (!result || result.path.trim() === '' || result.rest.includes('\0')) return undefined;
    if (result.isMatch) matches++;
    results.push(result);
  }
  return matches >= FEWEST_MATCHES ? results : undefined;
}

/** Reads `path:line[:column]: text`, and `path-line-text` for context of such a path. */
function* flatResults(lines: readonly string[]): Steps<readonly Line[] | undefined> {
  const sample = lines.slice(0, SAMPLE_LINES);
  if (!sample.some((line) => flatMatch(line) !== undefined)) return undefined;
  const matched: (Line | undefined)[] = [];
  const paths = new Set<string>();
  let before: string | undefined;
  for (const [i, line] of lines.entries()) {
    if (isStep(i)) yield;
    const match = flatMatch(line, before);
    if (match?.path !== undefined) {
      before = match.path;
      paths.add(before);
    }
    matched.push(match);
  }
  const results: Line[] = [];
  for (const [i, line] of lines.entries()) {
    if (isStep(i)) yield;
    results.push(matched[i] ?? contextLine(line, paths) ?? { path: undefined, text: line });
  }
  return areResults(results) ? results : undefined;
}

/** @param before the path of the previous line, which usually is also the path of this line */
function flatMatch(line: string, before?: string): Result | undefined {
  if (before !== undefined && line.charCodeAt(before.length) === COLON && line.startsWith(before)) {
    const result = resultOf(line, before.length);
    if (result?.isMatch) return result;
  }
  // The colon of a drive is not a separator.
  const colon = line.indexOf(':', line[1] === ':' && /[\\/]/.test(line[2] ?? '') ? 2 : 0);
  const result = colon < 1 ? undefined : resultOf(line, colon);
  return result?.isMatch && isPathLike(result.path) ? result : undefined;
}

/** A result in a line of context. A path may itself contain `-9-`, so only the paths of the matches show where it ends. */
function contextLine(line: string, paths: ReadonlySet<string>): Result | undefined {
  let at = line.indexOf('-');
  for (let tries = 0; at !== -1 && tries < MOST_DASHES; tries++) {
    if (isDigit(line.charCodeAt(at + 1)) && paths.has(line.slice(0, at))) return resultOf(line, at);
    at = line.indexOf('-', at + 1);
  }
  return undefined;
}

/** Reads a path on a line of its own and the lines of its matches below it. */
function* headedResults(lines: readonly string[]): Steps<readonly Line[] | undefined> {
  const isHeading = (i: number): boolean => {
    const line = lines[i] as string;
    return line !== '' && !isDigit(line.charCodeAt(0)) && placed('', lines[i + 1] ?? '') !== undefined && isPathLike(line);
  };
  if (!lines.slice(0, SAMPLE_LINES).some((_, i) => isHeading(i))) return undefined;
  let path: string | undefined;
  const results: Line[] = [];
  for (const [i, line] of lines.entries()) {
    if (isStep(i)) yield;
    const result = path === undefined ? undefined : placed(path, line);
    if (result) results.push(result);
    else if (isHeading(i)) path = line;
    else {
      path = undefined;
      results.push({ path, text: line });
    }
  }
  return areResults(results) ? results : undefined;
}

/** The result in a line whose path ends at `separator`; undefined if there is none. */
const resultOf = (line: string, separator: number): Result | undefined =>
  isDigit(line.charCodeAt(separator + 1)) ? placed(line.slice(0, separator), line.slice(separator + 1)) : undefined;

/** Reads the line number in front of the text: `12:`, `12:5:` or `12-`. */
function placed(path: string, rest: string): Result | undefined {
  const line = digitsFrom(rest, 0);
  const mark = rest.charCodeAt(line);
  if (line === 0 || (mark !== COLON && mark !== DASH)) return undefined;
  const isMatch = mark === COLON;
  const column = isMatch ? digitsFrom(rest, line + 1) : line + 1;
  const hasColumn = column > line + 1 && rest.charCodeAt(column) === COLON;
  return { path, rest, textAt: hasColumn ? column + 1 : line + 1, hasColumn, isMatch };
}

/** The end of a number of at most nine digits; `from` itself if there is none. */
function digitsFrom(text: string, from: number): number {
  let end = from;
  while (isDigit(text.charCodeAt(end))) end++;
  return end - from > MOST_DIGITS ? from : end;
}

function areResults(results: readonly Line[]): boolean {
  let matches = 0;
  let all = 0;
  for (const line of results) {
    if (line.path === undefined && (line.text === '' || line.text === '--')) continue;
    all++;
    if (line.path !== undefined && line.isMatch) matches++;
    else if (line.path !== undefined) all--;
  }
  return matches >= FEWEST_MATCHES && matches >= all * LEAST_SHARE;
}

/**
 * Groups results under their file. Other lines stay where they are and end the group before them. Blank lines between groups are removed.
 */
function* grouped(results: readonly Line[]): Steps<readonly string[]> {
  const out = ['[compressed search results: the matches of a file are below its path]'];
  let group: Result[] = [];
  let seen = 0;
  const flush = (): void => {
    out.push(...groupText(group, seen <= FIRST_RESULTS ? TEXTS_PER_FILE : LATER_TEXTS_PER_FILE));
    group = [];
  };
  for (const [i, line] of results.entries()) {
    if (isStep(i)) yield;
    if (line.path !== undefined) {
      if (group[0] && group[0].path !== line.path) flush();
      group.push(line);
      seen++;
    } else if (line.text !== '' || i === results.length - 1) {
      // A separator between two pieces of one file stays in its group.
      flush();
      out.push(line.text);
    }
  }
  flush();
  return out;
}

/** @param most how many matches keep their text */
function groupText(group: readonly Result[], most: number): readonly string[] {
  const [first] = group;
  if (!first) return [];
  if (group.length === 1) return [`${first.path}:${shortened(first.rest)}`];
  const out = [first.path];
  const further: string[] = [];
  let texts = 0;
  let shown: { readonly places: string[]; readonly text: string } | undefined;
  const show = (): void => {
    if (shown) out.push(`${shown.places.join(',')}:${shortened(shown.text)}`);
    shown = undefined;
  };
  for (const { rest, textAt, hasColumn, isMatch } of group) {
    const place = rest.slice(0, textAt - 1);
    const text = rest.slice(textAt);
    if (texts >= most && !FAILURE.test(text)) {
      if (isMatch) further.push(place);
    } else if (isMatch && !hasColumn && shown?.text === text) shown.places.push(place);
    else {
      show();
      if (isMatch) texts++;
      if (isMatch && !hasColumn) shown = { places: [place], text };
      else out.push(shortened(rest));
    }
  }
  show();
  if (further.length > 0) out.push(`[${further.length} more matches, their text left out, at ${further.join(' ')}]`);
  return out;
}

function shortened(text: string): string {
  if (text.length <= LONGEST_TEXT || FAILURE.test(text)) return text;
  const [head, tail] = [text.slice(0, KEPT_HEAD), text.slice(-KEPT_TAIL)];
  return `${head.toWellFormed()}[${text.length - KEPT_HEAD - KEPT_TAIL} characters left out]${tail.toWellFormed()}`;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
