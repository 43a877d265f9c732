// Compresses diffs (F7.3): of each hunk the changed lines stay, with one unchanged line on either side of them.

/** Unchanged lines that stay on each side of a change. */
const KEPT_CONTEXT = 1;
/** A shorter run of unchanged lines is no longer than its marker. */
const FEWEST_LEFT_OUT = 2;
/** Header lines of a file that come between `diff --git` and its hunks. */
const MOST_HEADER_LINES = 8;

const HUNK = /^(@{2,9}) ((?:-\d{1,9}(?:,\d{1,9})? )+)\+\d{1,9}(?:,(\d{1,9}))? @{2,9}/;

/** Undefined where the text has no well-formed hunk, or nothing to leave out. What is outside of hunks stays. */
export function compressDiff(lines: readonly string[]): readonly string[] | undefined {
  const out: string[] = ['[compressed diff: ~N stands for N unchanged lines; git\'s own "diff" and "index" lines are left out]'];
  let hunks = 0;
  for (let i = 0; i < lines.length; ) {
    const line = lines[i] as string;
    const end = line.startsWith('@@') ? hunkEnd(lines, i) : undefined;
    if (end !== undefined) {
      hunks++;
      out.push(line);
      shorten(lines.slice(i + 1, end.at), end.columns, out);
      i = end.at;
    } else if (line.startsWith('diff --git ')) {
      i = header(lines, i, out);
    } else {
      out.push(line);
      i++;
    }
  }
  return hunks > 0 ? out : undefined;
}

/** Where the hunk ends whose header is at `at`; undefined where its lines are not those that the header counts. */
function hunkEnd(lines: readonly string[], at: number): { readonly at: number; readonly columns: number } | undefined {
  const [, signs = '', ranges = '', added = '1'] = HUNK.exec(lines[at] as string) ?? [];
  const olds = ranges
    .trim()
    .split(' ')
    .map((range) => Number(/,(\d+)/.exec(range)?.[1] ?? 1));
  const columns = signs.length - 1;
  if (columns < 1 || olds.length !== columns) return undefined;
  let news = Number(added);
  let i = at + 1;
  for (; news > 0 || olds.some((left) => left > 0); i++) {
    const line = lines[i];
    if (line === undefined) return undefined;
    if (line.startsWith('\\')) continue;
    const prefix = prefixOf(line, columns);
    if (prefix === undefined) return undefined;
    const isRemoved = prefix.includes('-');
    if (!isRemoved) news--;
    // A line that some parent lost: the other columns say nothing of their parent, unless it had the line too.
    for (let parent = 0; parent < columns; parent++) {
      if (isRemoved ? prefix[parent] === '-' : prefix[parent] === ' ') olds[parent] = (olds[parent] as number) - 1;
    }
    if (news < 0 || olds.some((left) => left < 0)) return undefined;
  }
  return { at: lines[i]?.startsWith('\\') ? i + 1 : i, columns };
}

/** One sign a parent. Editors and terminals strip the white space of an empty unchanged line. */
function prefixOf(line: string, columns: number): string | undefined {
  if (line === '' || line === '\r') return ' '.repeat(columns);
  const prefix = line.slice(0, columns);
  return prefix.length === columns && /^[ +-]+$/.test(prefix) ? prefix : undefined;
}

function shorten(hunk: readonly string[], columns: number, out: string[]): void {
  const isUnchanged = (line: string): boolean => !line.startsWith('\\') && (prefixOf(line, columns) ?? '').trim() === '';
  for (let i = 0; i < hunk.length; ) {
    let end = i;
    while (end < hunk.length && isUnchanged(hunk[end] as string)) end++;
    if (end === i) {
      out.push(hunk[i] as string);
      i++;
      continue;
    }
    const from = i === 0 ? 0 : i + KEPT_CONTEXT;
    const to = end === hunk.length ? end : end - KEPT_CONTEXT;
    if (to - from < FEWEST_LEFT_OUT) out.push(...hunk.slice(i, end));
    else out.push(...hunk.slice(i, from), `~${to - from}`, ...hunk.slice(to, end));
    i = end;
  }
}

/** Git's header of a file: its first line and its `index` line go where the `---` and `+++` lines name the same paths. */
function header(lines: readonly string[], at: number, out: string[]): number {
  const git = lines[at] as string;
  let end = at + 1;
  while (end < lines.length && end - at <= MOST_HEADER_LINES && !lines[end]?.startsWith('+++ ')) end++;
  const [minus, plus] = [lines[end - 1], lines[end]].map((line) => line?.slice(4).replace(/\t?\r?$/, ''));
  const isNamed =
    lines[end - 1]?.startsWith('--- ') === true &&
    lines[end + 1]?.startsWith('@@') === true &&
    (git === `diff --git ${minus} ${plus}` ||
      (minus === '/dev/null' && git.endsWith(` ${plus}`)) ||
      (plus === '/dev/null' && git.startsWith(`diff --git ${minus} `)));
  if (!isNamed) {
    out.push(git);
    return at + 1;
  }
  out.push(...lines.slice(at + 1, end + 1).filter((line) => !/^index [\da-f]+\.\.[\da-f]+/.test(line)));
  return end + 1;
}
