// Compresses logs of test runners and builds (F7.3): passed tests and progress go; every failure and everything else stays.
import { LOG_DIALECTS, type LogDialect } from './log-dialects.ts';

/** Summaries stand at the end of a log, in front of the details of its failures at most. */
const SUMMARY_LINES = 4_000;
const FEWEST_LEFT_OUT = 3;
/** What any summary has: spares most lines the dialects' expressions. */
const SUMMARY_HINT = /\d|^OK/;
const LONGEST_LINE = 2_000;

/** Undefined where no summary says how the run ended, or it reports failures that are not all here. */
export function compressLog(lines: readonly string[]): readonly string[] | undefined {
  const dialect = dialectOf(lines);
  if (!dialect || reportedFailures(lines, dialect) > discoveredFailures(lines, dialect)) return undefined;
  return ['[compressed log: only lines of passed tests and of progress are left out]', ...shortened(lines, dialect)];
}

function dialectOf(lines: readonly string[]): LogDialect | undefined {
  const candidates = lines.slice(-SUMMARY_LINES).filter((line) => line.length <= LONGEST_LINE && SUMMARY_HINT.test(line));
  return LOG_DIALECTS.find(({ summary }) => candidates.some((line) => summary.test(line)));
}

/** Summaries of one form add up (one for each package); of several forms (tests, suites) the largest number counts. */
function reportedFailures(lines: readonly string[], { summary, counts }: LogDialect): number {
  const byForm = new Map<string, number>();
  for (const line of lines) {
    if (line.length > LONGEST_LINE || !summary.test(line)) continue;
    const form = line.replace(/[\d.]+/g, '#');
    let failures = byForm.get(form) ?? 0;
    // A match without a number is one failure.
    for (const match of line.matchAll(counts)) failures += Number(match.slice(1).find((group) => group !== undefined) ?? 1);
    byForm.set(form, failures);
  }
  return Math.max(0, ...byForm.values());
}

/** A failure that is written twice counts once. */
function discoveredFailures(lines: readonly string[], { failure, derived }: LogDialect): number {
  const first = new Set<string>();
  let repeated = 0;
  for (const line of lines) {
    if (line.length > LONGEST_LINE) continue;
    if (failure.test(line)) first.add(line.trim());
    else if (derived?.test(line)) repeated++;
  }
  return first.size - repeated;
}

function shortened(lines: readonly string[], dialect: LogDialect): readonly string[] {
  const progress = progressLines(lines, dialect);
  const out: string[] = [];
  for (let i = 0; i < lines.length; ) {
    let end = i;
    while (end < lines.length && progress[end] === 1) end++;
    const left = end - i;
    if (left >= FEWEST_LEFT_OUT) out.push(`[${left} lines left out]`);
    else if (left > 0) out.push(...lines.slice(i, end));
    else {
      out.push(lines[i] as string);
      end = i + 1;
    }
    i = end;
  }
  return out;
}

/** 1 for each line that may go. */
function progressLines(lines: readonly string[], { failure, progress, title, details }: LogDialect): Uint8Array {
  const marks = new Uint8Array(lines.length);
  let inDetails = false;
  for (const [i, line] of lines.entries()) {
    if (inDetails) {
      marks[i] = 1;
      inDetails = !details?.last.test(line);
    } else if (line.length > LONGEST_LINE) continue;
    else if (details && marks[i - 1] === 1 && details.first.test(line)) {
      marks[i] = 1;
      inDetails = true;
    } else if (progress.test(line) && !failure.test(line)) marks[i] = 1;
  }
  // Upwards: a title belongs to what follows, a blank line to both sides.
  for (let i = lines.length - 2; i > 0; i--) {
    if (marks[i] === 1 || marks[i + 1] !== 1) continue;
    if (title?.test(lines[i] as string) || (lines[i] === '' && marks[i - 1] === 1)) marks[i] = 1;
  }
  return marks;
}
