// Compresses logs of test runners and builds (F7.3): removes passed tests and progress, and keeps every failure and everything else.
import { LOG_DIALECTS, type LogDialect } from './log-dialects.ts';
import { isStep, type Steps } from './steps.ts';

/** The last lines of a log, which are searched for summaries. Only details of failures may follow a summary. */
const SUMMARY_LINES = 4_000;
const CANDIDATES_AT_A_TIME = 1_000;
const FEWEST_LEFT_OUT = 3;
/** Matches every summary. Most other lines do not match, and skip the dialects' slower expressions. */
const SUMMARY_HINT = /\d|^OK/;
const LONGEST_SUMMARY = 160;
/** A longer line is neither progress nor the first line of a failure. */
const LONGEST_LINE = 500;
const LONGEST_COLOURED_LINE = 2_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of colours
const CONTROLS = /\x1b\[[\d;]*m|\r$/g;

/**
 * Undefined if no summary states the result of the run, or if a summary reports failures that are not all in the log.
 * @param hasControls whether the text has colours or carriage returns: they are ignored in comparisons and kept in the result
 */
export function* compressLog(lines: readonly string[], hasControls: boolean): Steps<readonly string[] | undefined> {
  const plain = hasControls ? yield* withoutControls(lines) : lines;
  const dialect = yield* dialectOf(plain);
  if (!dialect) return undefined;
  const { progress, reported, discovered } = yield* readLog(plain, dialect);
  if (reported > discovered) return undefined;
  return ['[compressed log: only lines of passed tests and of progress are left out]', ...shortened(lines, progress)];
}

function* withoutControls(lines: readonly string[]): Steps<readonly string[]> {
  const plain: string[] = [];
  for (const [i, line] of lines.entries()) {
    if (isStep(i)) yield;
    plain.push(line.length > LONGEST_COLOURED_LINE ? line : line.replace(CONTROLS, ''));
  }
  return plain;
}

function* dialectOf(lines: readonly string[]): Steps<LogDialect | undefined> {
  const candidates = lines.slice(-SUMMARY_LINES).filter((line) => line.length <= LONGEST_SUMMARY && SUMMARY_HINT.test(line));
  for (const dialect of LOG_DIALECTS) {
    for (const [i, line] of candidates.entries()) {
      if (i % CANDIDATES_AT_A_TIME === CANDIDATES_AT_A_TIME - 1) yield;
      if (dialect.summary.test(line)) return dialect;
    }
  }
  return undefined;
}

interface Log {
  /** 1 for each line that may be removed. */
  readonly progress: Uint8Array;
  /** The number of failures that summaries report, and the number of failures whose first line is in the log. */
  readonly reported: number;
  readonly discovered: number;
}

function* readLog(lines: readonly string[], dialect: LogDialect): Steps<Log> {
  const { failure, derived, progress, details } = dialect;
  const marks = new Uint8Array(lines.length);
  const failures = new Set<string>();
  const reported = new ReportedFailures(dialect);
  let repeated = 0;
  let inDetails = false;
  const block = new FailureBlock(dialect);
  for (const [i, line] of lines.entries()) {
    if (isStep(i)) yield;
    if (inDetails) {
      marks[i] = 1;
      inDetails = details?.last.test(line) !== true;
    } else if (line.length > LONGEST_LINE) continue;
    else if (details && !block.isOpen && marks[i - 1] === 1 && details.first.test(line)) {
      marks[i] = 1;
      inDetails = true;
      // A failure that is printed twice counts once.
    } else if (failure.test(line)) {
      failures.add(line.trim());
      block.open(line);
    } else if (derived?.test(line)) repeated++;
    else {
      reported.read(line);
      if (!block.holds(line) && progress.test(line)) marks[i] = 1;
    }
  }
  markTitles(lines, dialect, marks);
  return { progress: marks, reported: reported.number, discovered: failures.size - repeated };
}

/** The lines of a failure, which are all kept: those indented deeper than its first line, or those in the dialect's section of failures. */
class FailureBlock {
  readonly #section: LogDialect['failures'];
  /** The indentation of the failure's first line; undefined outside a failure. */
  #indentation: number | undefined;
  #inSection = false;

  constructor({ failures }: LogDialect) {
    this.#section = failures;
  }

  get isOpen(): boolean {
    return this.#inSection || this.#indentation !== undefined;
  }

  open(line: string): void {
    this.#indentation = indentationOf(line);
    if (this.#section?.first.test(line)) this.#inSection = true;
  }

  /** Whether a line belongs to the open failure. Called with each line after `open`, in order. */
  holds(line: string): boolean {
    if (this.#inSection) this.#inSection = this.#section?.last.test(line) !== true;
    else if (this.#section?.first.test(line)) this.#inSection = true;
    if (this.#indentation !== undefined && line !== '' && indentationOf(line) <= this.#indentation) this.#indentation = undefined;
    return this.isOpen;
  }
}

const indentationOf = (line: string): number => line.length - line.trimStart().length;

/** Adds up summaries of one form (one for each package). Of several forms (tests, suites) the largest number counts. */
class ReportedFailures {
  readonly #dialect: LogDialect;
  readonly #byForm = new Map<string, number>();

  constructor(dialect: LogDialect) {
    this.#dialect = dialect;
  }

  get number(): number {
    return Math.max(0, ...this.#byForm.values());
  }

  read(line: string): void {
    const { summary, counts } = this.#dialect;
    if (line.length > LONGEST_SUMMARY || !summary.test(line)) return;
    const form = line.replace(/[\d.]+/g, '#');
    let failures = this.#byForm.get(form) ?? 0;
    // A match without a number counts as one failure.
    for (const match of line.matchAll(counts)) failures += Number(match.slice(1).find((group) => group !== undefined) ?? 1);
    this.#byForm.set(form, failures);
  }
}

/** Marks from the last line upwards, because a title belongs to the lines after it, and a blank line to both sides. */
function markTitles(lines: readonly string[], { title }: LogDialect, marks: Uint8Array): void {
  for (let i = lines.length - 2; i > 0; i--) {
    if (marks[i] === 1 || marks[i + 1] !== 1) continue;
    const line = lines[i] as string;
    if ((line.length <= LONGEST_LINE && title?.test(line)) || (line === '' && marks[i - 1] === 1)) marks[i] = 1;
  }
}

function shortened(lines: readonly string[], progress: Uint8Array): readonly string[] {
  const out: string[] = [];
  for (let i = 0; i < lines.length; ) {
    let end = i;
    while (progress[end] === 1) end++;
    if (end - i >= FEWEST_LEFT_OUT) out.push(`[${end - i} lines left out]`);
    else if (end === i) out.push(lines[end++] as string);
    else out.push(...lines.slice(i, end));
    i = end;
  }
  return out;
}
