// Compresses diffs (F7.3): keeps the changed lines of each hunk with one unchanged line on either side.
import { LINES_AT_A_TIME, type Steps } from './steps.ts';

/** Unchanged lines that stay on each side of a change. */
const KEPT_CONTEXT = 1;
/** A shorter run of unchanged lines stays, because its marker would be as long. */
const FEWEST_LEFT_OUT = 2;
const INDEX = /^index [\da-f]+(?:,[\da-f]+)*\.\.[\da-f]+/;
/** Header lines of a file that come between `diff --git` and its hunks. */
const MOST_HEADER_LINES = 8;

const HUNK = /^(@{2,9}) ((?:-\d{1,9}(?:,\d{1,9})? )+)\+\d{1,9}(?:,(\d{1,9}))? @{2,9}/;

/** Undefined if the text has no well-formed hunk, or nothing to leave out. Lines outside hunks stay. */
export function* compressDiff(lines: readonly string[]): Steps<readonly string[] | undefined> {
  const out: string[] = ['[compressed diff: ~N stands for N unchanged lines; git\'s own "diff" and "index" lines are left out]'];
  let hunks = 0;
  let pauseAt = LINES_AT_A_TIME;
  for (let i = 0; i < lines.length; ) {
    const line = lines[i] as string;
    const hunk = line.startsWith('@@') ? hunkAt(lines, i) : undefined;
    if (hunk) {
      hunks++;
      out.push(line);
      shorten(lines, i + 1, hunk, out);
      i = hunk.end;
    } else if (line.startsWith('diff --git ')) {
      i = header(lines, i, out);
    } else {
      out.push(line);
      i++;
    }
    if (i >= pauseAt) {
      yield;
      pauseAt = i + LINES_AT_A_TIME;
    }
  }
  return hunks > 0 ? out : undefined;
}

interface Hunk {
  /** The line after the hunk. */
  readonly end: number;
  /** For each line after the header, whether the change left it unchanged. */
  readonly unchanged: readonly boolean[];
}

/** The hunk whose header is at `at`; undefined if its lines are not those that the header counts, or none of them is a change. */
function hunkAt(lines: readonly string[], at: number): Hunk | undefined {
  const [, signs = '', ranges = '', added = '1'] = HUNK.exec(lines[at] as string) ?? [];
  const olds = ranges
    .trim()
    .split(' ')
    .map((range) => Number(/,(\d+)/.exec(range)?.[1] ?? 1));
  if (olds.length !== signs.length - 1) return undefined;
  const left = { news: Number(added), olds };
  const unchanged: boolean[] = [];
  let hasChange = false;
  let end = at + 1;
  for (; left.news > 0 || olds.some((lines) => lines > 0); end++) {
    const line = lines[end];
    if (line === undefined) return undefined;
    if (line[0] === '\\') unchanged.push(false);
    else {
      const isUnchanged = olds.length === 1 ? countLine(line, left) : countCombined(line, left);
      if (isUnchanged === undefined || left.news < 0 || olds.some((lines) => lines < 0)) return undefined;
      hasChange ||= !isUnchanged;
      unchanged.push(isUnchanged && !hasChangedWords(line));
    }
  }
  if (!hasChange) return undefined;
  if (lines[end]?.[0] === '\\') {
    unchanged.push(false);
    end++;
  }
  return { end, unchanged };
}

/** Whether `git diff --word-diff` marked changed words in the line. Such a line has no sign in front of it. */
const hasChangedWords = (line: string): boolean => encloses(line, '[-', '-]') || encloses(line, '{+', '+}');

function encloses(line: string, opening: string, closing: string): boolean {
  const at = line.indexOf(opening);
  return at !== -1 && line.includes(closing, at);
}

interface LinesLeft {
  news: number;
  readonly olds: number[];
}

/**
 * Whether the line is unchanged; undefined if it is not a line of a hunk. An empty unchanged line may lack its blank, because editors strip
 * it.
 */
function countLine(line: string, left: LinesLeft): boolean | undefined {
  const sign = line === '' || line === '\r' ? ' ' : line[0];
  if (sign !== ' ' && sign !== '+' && sign !== '-') return undefined;
  if (sign !== '-') left.news--;
  if (sign !== '+') left.olds[0] = (left.olds[0] as number) - 1;
  return sign === ' ';
}

/**
 * Counts a line of a combined diff, which has a sign for each parent. A removed line was in the parents with `-`, any other line in the
 * parents with a blank.
 */
function countCombined(line: string, left: LinesLeft): boolean | undefined {
  const { olds } = left;
  const prefix = line === '' || line === '\r' ? ' '.repeat(olds.length) : line.slice(0, olds.length);
  if (prefix.length < olds.length || !/^[ +-]+$/.test(prefix)) return undefined;
  const isRemoved = prefix.includes('-');
  if (!isRemoved) left.news--;
  for (const [parent, sign] of [...prefix].entries()) {
    if (sign === (isRemoved ? '-' : ' ')) olds[parent] = (olds[parent] as number) - 1;
  }
  return prefix.trim() === '';
}

/** @param from the first line after the header */
function shorten(lines: readonly string[], from: number, { end, unchanged }: Hunk, out: string[]): void {
  for (let i = from; i < end; ) {
    let behind = i;
    while (unchanged[behind - from] === true) behind++;
    if (behind === i) {
      out.push(lines[i] as string);
      i++;
      continue;
    }
    const first = i === from ? i : i + KEPT_CONTEXT;
    const last = behind === end ? behind : behind - KEPT_CONTEXT;
    const leaves = last - first >= FEWEST_LEFT_OUT;
    for (let kept = i; kept < behind; kept++) {
      if (leaves && kept === first) out.push(`~${last - first}`);
      if (!leaves || kept < first || kept >= last) out.push(lines[kept] as string);
    }
    i = behind;
  }
}

/**
 * Shortens Git's header of a file: removes its `index` line, and its first line if only the `---` and `+++` lines remain and name the same
 * paths.
 * @returns the line after the header
 */
function header(lines: readonly string[], at: number, out: string[]): number {
  const git = lines[at] as string;
  let end = at + 1;
  while (end < lines.length && end - at <= MOST_HEADER_LINES && !lines[end]?.startsWith('+++ ')) end++;
  const [minus, plus] = [lines[end - 1], lines[end]].map((line) => line?.slice(4).replace(/\t?\r?$/, ''));
  if (!lines[end - 1]?.startsWith('--- ') || !lines[end + 1]?.startsWith('@@')) {
    out.push(git);
    return at + 1;
  }
  const between = lines.slice(at + 1, end - 1).filter((line) => !INDEX.test(line));
  if (between.length > 0 || git.trimEnd() !== `diff --git ${minus} ${plus}`) out.push(git);
  out.push(...between, ...lines.slice(end - 1, end + 1));
  return end + 1;
}
