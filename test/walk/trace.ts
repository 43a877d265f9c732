// The files of the program that a piece of work passes, in the order of their first calls. V8 counts which functions run; a second run
// stops at the first statement of each of them, only to record its file.
import { type Debugger, type Profiler, Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

declare global {
  /** The conditions of the breakpoints call this function, and are never true. */
  var recordCall: ((index: number) => false) | undefined;
}

/** Frames of work that the traced work did not cause: timers, such as those of the writer, and the simulated provider in this process. */
const FOREIGN = /listOnTimeout|\/proxy\/rehearsal\/|\/test\/support\/rehearsal/;

export interface Traced {
  /** Runs twice while it is traced; it has run before, so work that only a first run does is not traced. */
  run(): Promise<void>;
  /** Resolves when no work of an earlier run is left. */
  settled(): Promise<void>;
}

/** @param isTraced whether a file is recorded, by its path in the repository */
export async function filesOf(work: Traced, isTraced: (file: string) => boolean): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  try {
    const functions = (await calledFunctions(session, work)).filter(({ file }) => isTraced(file));
    return await recorded(session, functions, work);
  } finally {
    session.disconnect();
  }
}

interface Called {
  readonly file: string;
  readonly script: string;
  readonly range: Profiler.CoverageRange;
}

async function calledFunctions(session: Session, work: Traced): Promise<readonly Called[]> {
  await post(session, 'Profiler.enable');
  await post(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await work.settled();
  await post(session, 'Profiler.takePreciseCoverage');
  await work.run();
  const { result } = await post<Profiler.TakePreciseCoverageReturnType>(session, 'Profiler.takePreciseCoverage');
  await post(session, 'Profiler.stopPreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith('file:'))
    .flatMap(({ url, scriptId, functions }) => {
      const file = fileURLToPath(url).slice(ROOT.length);
      return functions.flatMap(({ ranges: [range] }) => (range && range.count > 0 ? { file, script: scriptId, range } : []));
    });
}

async function recorded(session: Session, functions: readonly Called[], work: Traced): Promise<readonly string[]> {
  await post(session, 'Debugger.enable');
  for (const [index, { script, range }] of functions.entries()) {
    const start = await positionOf(session, script, range.startOffset);
    const end = await positionOf(session, script, range.endOffset);
    const { locations } = await post<Debugger.GetPossibleBreakpointsReturnType>(session, 'Debugger.getPossibleBreakpoints', {
      start,
      end,
      restrictToFunction: true,
    });
    const [first] = locations;
    // A function without a statement has no place to stop.
    if (!first) continue;
    await post(session, 'Debugger.setBreakpoint', { location: first, condition: `recordCall(${index})` }).catch(() => undefined);
  }
  const files = new Set<string>();
  let isRecording = false;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  globalThis.recordCall = (index) => {
    const { file } = functions[index] as Called;
    if (isRecording && !files.has(file) && isAsked(new Error('for its stack').stack ?? '')) files.add(file);
    return false;
  };
  try {
    await work.settled();
    isRecording = true;
    await work.run();
  } finally {
    globalThis.recordCall = undefined;
    Error.stackTraceLimit = stackTraceLimit;
  }
  await post(session, 'Debugger.disable');
  return [...files];
}

function isAsked(stack: string): boolean {
  if (FOREIGN.test(stack)) return false;
  const outermost = stack.split('\n').findLast((line) => line.includes(ROOT));
  // An answer of the database continues work that the writer began.
  return !outermost?.includes(`${ROOT}store/`);
}

/** The texts of scripts, by their ids. */
const texts = new Map<string, string>();

async function positionOf(session: Session, script: string, offset: number): Promise<Debugger.Location> {
  let text = texts.get(script);
  if (text === undefined) {
    text = (await post<Debugger.GetScriptSourceReturnType>(session, 'Debugger.getScriptSource', { scriptId: script })).scriptSource;
    texts.set(script, text);
  }
  const before = text.slice(0, offset).split('\n');
  return { scriptId: script, lineNumber: before.length - 1, columnNumber: before.at(-1)?.length ?? 0 };
}

function post<Result>(session: Session, method: string, params: object = {}): Promise<Result> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (error, result) => (error ? reject(new Error(error.message)) : resolve(result as Result)));
  });
}
