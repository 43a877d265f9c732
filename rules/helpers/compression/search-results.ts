// Compresses search results (F7.3): matches are grouped under their file, and what their texts repeat is left out.

import { isPathLike } from './path-like.ts';

/** One line of the results. */
type Line =
  /** `rest` is what follows the path: `12:text`, `12:5:text`, or `12-text` for a line of context. */
  { readonly path: string; readonly rest: string; readonly isMatch: boolean } | { readonly path: undefined; readonly text: string };

/** `12:`, `12:5:` or `12-` in front of the text. */
const PLACE = /^(\d{1,9})(?::(\d{1,9}))?([:-])/;
const FEWEST_MATCHES = 4;
/** The share of lines that must be results. */
const LEAST_SHARE = 2 / 3;
const SAMPLE_LINES = 48;
/** Matches of one file that keep their text; of further ones the places remain. */
const TEXTS_PER_FILE = 24;
const LONGEST_TEXT = 400;
const KEPT_HEAD = 240;
const KEPT_TAIL = 80;
/** A text that may report a failure is kept whole. */
const FAILURE = /\b(?:error|errors|fail|fails|failed|failure|failures|fatal|panic|panicked|exception|warning|assert\w*)\b/i;

/** Undefined where the lines are no search results, or are malformed. */
export function compressSearch(lines: readonly string[]): readonly string[] | undefined {
  const results = lines.some((line) => line.includes('\0')) ? nulResults(lines) : (flatResults(lines) ?? headedResults(lines));
  return results && ['[compressed search results: the matches of a file stand below its path]', ...grouped(results)];
}

/** `path NUL line[:column]: text` in every line; one malformed line, and the text is none (F7.3). */
function nulResults(lines: readonly string[]): readonly Line[] | undefined {
  const results: Line[] = [];
  let matches = 0;
  for (const line of lines) {
    const nul = line.indexOf('\0');
    if (nul === -1) {
      if (line !== '' && line !== '--') return undefined;
      results.push({ path: undefined, text: line });
      continue;
    }
    const [path, rest] = [line.slice(0, nul), line.slice(nul + 1)];
    const place = PLACE.exec(rest);
    if (path.trim() === '' || !place || rest.includes('\0')) return undefined;
    const isMatch = place[3] === ':';
    if (isMatch) matches++;
    results.push({ path, rest, isMatch });
  }
  return matches >= FEWEST_MATCHES ? results : undefined;
}

/** `path:line[:column]: text`, and `path-line-text` for the context of such a path. */
function flatResults(lines: readonly string[]): readonly Line[] | undefined {
  const sample = lines.slice(0, SAMPLE_LINES);
  if (sample.filter((line) => flatMatch(line) !== undefined).length === 0) return undefined;
  const matched: (Line | undefined)[] = [];
  const paths = new Set<string>();
  let before: string | undefined;
  for (const line of lines) {
    const match = flatMatch(line, before);
    if (match?.path !== undefined) {
      before = match.path;
      paths.add(before);
    }
    matched.push(match);
  }
  const results = lines.map((line, i): Line => matched[i] ?? contextLine(line, paths) ?? { path: undefined, text: line });
  return areResults(results) ? results : undefined;
}

/** @param before the path of the line before, which most often is this line's too */
function flatMatch(line: string, before?: string): Line | undefined {
  if (before !== undefined && line.startsWith(before) && line[before.length] === ':') {
    const rest = line.slice(before.length + 1);
    if (PLACE.exec(rest)?.[3] === ':') return { path: before, rest, isMatch: true };
  }
  const colon = line.indexOf(':', /^[A-Za-z]:[\\/]/.test(line) ? 2 : 0);
  if (colon < 1 || !isDigit(line.charCodeAt(colon + 1))) return undefined;
  const [path, rest] = [line.slice(0, colon), line.slice(colon + 1)];
  return PLACE.exec(rest)?.[3] === ':' && isPathLike(path) ? { path, rest, isMatch: true } : undefined;
}

/** A path may hold any number of `-9-` itself: the known paths decide. */
function contextLine(line: string, paths: ReadonlySet<string>): Line | undefined {
  const places = /-(?=\d{1,9}-)/g;
  for (let tries = 0; tries < 8; tries++) {
    const at = places.exec(line)?.index;
    if (at === undefined) return undefined;
    const path = line.slice(0, at);
    if (paths.has(path)) return { path, rest: line.slice(at + 1), isMatch: false };
  }
  return undefined;
}

/** A path on a line of its own, and the lines of its matches below it. */
function headedResults(lines: readonly string[]): readonly Line[] | undefined {
  let path: string | undefined;
  let headings = 0;
  const results = lines.flatMap((line, i): readonly Line[] => {
    const place = PLACE.exec(line);
    if (path !== undefined && place) return [{ path, rest: line, isMatch: place[3] === ':' }];
    if (PLACE.test(lines[i + 1] ?? '') && isPathLike(line)) {
      path = line;
      headings++;
      return [];
    }
    path = undefined;
    return [{ path: undefined, text: line }];
  });
  return headings > 0 && areResults(results) ? results : undefined;
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

type Result = Extract<Line, { readonly path: string }>;

/** Lines that are no results stay where they are, and end the group before them. Blank lines between groups go. */
function grouped(results: readonly Line[]): readonly string[] {
  const out: string[] = [];
  let group: Result[] = [];
  const flush = (): void => {
    out.push(...groupText(group));
    group = [];
  };
  for (const [i, line] of results.entries()) {
    if (line.path !== undefined) {
      if (group[0] && group[0].path !== line.path) flush();
      group.push(line);
    } else if (line.text !== '' || i === results.length - 1) {
      // The separator of two pieces of one file stays in its group.
      flush();
      out.push(line.text);
    }
  }
  flush();
  return out;
}

function groupText(group: readonly Result[]): readonly string[] {
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
  for (const { rest, isMatch } of group) {
    const [place = '', line = '', column] = PLACE.exec(rest) ?? [];
    const text = rest.slice(place.length);
    if (texts >= TEXTS_PER_FILE && group.length > TEXTS_PER_FILE && !FAILURE.test(text)) {
      if (isMatch) further.push(column === undefined ? line : `${line}:${column}`);
    } else if (isMatch && column === undefined && shown?.text === text) shown.places.push(line);
    else {
      show();
      if (isMatch) texts++;
      if (isMatch && column === undefined) shown = { places: [line], text };
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
