// The output formats of test runners and build tools: their summaries, the first lines of their failures, and the lines that report
// progress.

export interface LogDialect {
  /** A line that states the result of the run. */
  readonly summary: RegExp;
  /** Each number of failures or errors in a summary. */
  readonly counts: RegExp;
  /** The first line of one failure. */
  readonly failure: RegExp;
  /** Matches a failure that only repeats failures of its parts. */
  readonly derived?: RegExp;
  /** The first and last line of a section that has only failures. */
  readonly failures?: { readonly first: RegExp; readonly last: RegExp };
  /** A line that reports a passed test or progress. */
  readonly progress: RegExp;
  /** A title. It is left out together with the lines that follow it. */
  readonly title?: RegExp;
  /** Details below a line of progress: their first and last line. */
  readonly details?: { readonly first: RegExp; readonly last: RegExp };
}

const NEVER = /(?!)/g;
const CARGO_PROGRESS = 'Compiling|Downloading|Downloaded|Checking|Fresh|Adding|Locking|Updating|Dirty|Documenting|Unpacking|Vendoring';

/** The dialects, the unmistakable ones first. */
export const LOG_DIALECTS: readonly LogDialect[] = [
  {
    // cargo test
    summary: /^test result: \w+\. \d+ passed; \d+ failed/,
    counts: /; (\d+) failed/g,
    failure: /^---- .+ stdout ----$/,
    failures: { first: /^failures:$/, last: /^test result: / },
    progress: new RegExp(String.raw`^test .+ \.\.\. (?:ok|ignored)(?: <[\d.]+s>)?$|^ +(?:${CARGO_PROGRESS}) `),
  },
  {
    // cargo build
    summary: /^error: (?:could not compile|aborting) .*due to (?:\d+ )?previous error|^ +Finished .*target\(s\) in /,
    counts: /due to (\d+) previous error/g,
    failure: /^error(?:\[E\d+\])?: (?!could not compile|aborting due)/,
    progress: new RegExp(`^ +(?:${CARGO_PROGRESS}) `),
  },
  {
    // TAP
    summary: /^# fail +\d+$/,
    counts: /^# fail +(\d+)$/g,
    failure: /^ *not ok \d+/,
    derived: /^ *failureType: 'subtestsFailed'$/,
    progress: /^ *(?:ok \d+(?! .*# (?:TODO|SKIP))|1\.\.\d+$)/,
    title: /^ *# Subtest: /,
    details: { first: /^ *---$/, last: /^ *\.\.\.$/ },
  },
  {
    // node:test
    summary: /^ℹ fail \d+$/,
    counts: /^ℹ fail (\d+)$/g,
    failure: /^test at .+:\d+:\d+$/,
    failures: { first: /^✖ failing tests:$/, last: NEVER },
    progress: /^ *✔ /,
    title: /^ *▶ /,
  },
  {
    // pytest
    summary: /^(?:=+ )?(?:\d+ [a-z]+, )*\d+ (?:passed|failed|errors?)\b.* in [\d.]+s/,
    counts: /(\d+) (?:failed|errors?)\b/g,
    failure: /^_{3,} .+ _{3,}$/,
    failures: { first: /^=+ (?:FAILURES|ERRORS) =+$/, last: /^=+ .*(?:short test summary|passed|failed|error)/ },
    progress: /^\S+::.+ PASSED(?: +\[ *\d+%\])?$|^(?:\S+\.py )?[.s]+(?: +\[ *\d+%\])?$/,
  },
  {
    // unittest
    summary: /^(?:FAILED \((?:[a-z ]+=\d+(?:, )?)+\)|OK(?: \([^)]*\))?)$/,
    counts: /(?:failures|errors)=(\d+)/g,
    failure: /^(?:FAIL|ERROR): /,
    failures: { first: /^={30,}$/, last: NEVER },
    progress: /^\S+ \(\S+\) \.\.\. ok$|^\.+$/,
  },
  {
    // Jest and Vitest
    summary: /^ *Tests:? +.*\b\d+ (?:failed|passed)\b/,
    counts: /(\d+) failed/g,
    failure: /^ +● (?!Console$)|^ FAIL {2}.+ > /,
    progress: /^ *[✓√] |^ ?PASS /,
  },
  {
    // Go
    summary: /^(?:ok|FAIL)\s+\S+\s+(?:\(cached\)|[\d.]+s|\[)/,
    // A failed package states no number, so it counts as one failure.
    counts: /^FAIL(?=\s+\S)/g,
    failure: /^\s*--- FAIL: /,
    progress: /^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\s|--- PASS: )/,
  },
  {
    // Maven
    summary: /^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+/,
    counts: /(?:Failures|Errors): (\d+)/g,
    failure: /<<< (?:FAILURE|ERROR)!/,
    failures: { first: /<<< (?:FAILURE|ERROR)!/, last: /^$/ },
    progress: /^(?:\[INFO\] )?(?:Running |Download(?:ing|ed) )|^(?:\[INFO\] )?Tests run: \d+, Failures: 0, Errors: 0,.*Time elapsed/,
  },
  {
    // numbered failures
    summary: /^\d+ (?:tests?|doctests?|propert\w+|examples?|runs)\b.*\b\d+ (?:failures?|errors?)\b|^ +\d+ (?:passing|failing)\b/,
    counts: /(\d+) (?:failures?|errors?|failing)\b/g,
    failure: /^ *\d+\) \S/,
    progress: /^ *✔ |^ +\* (?:test|doctest|property) .*\([\d.]+ms\)|^[.*]+$/,
  },
  {
    // npm
    summary: /^(?:added|changed|removed|up to date)\b.* in [\d.]+m?s$/,
    counts: NEVER,
    failure: /^npm (?:error|ERR!)/,
    progress: /^npm (?:http|info|verb|verbose|sill|silly|timing) /,
  },
  {
    // other tools
    summary:
      /^(?=.*\b(?:passed|ran|result|results|summary|tests?|total|completed|finished|build|done|suites?)\b)(?=.*(?:\d+ (?:tests? )?(?:failed|failures?|errors?)\b|\b(?:failed|failures?|errors?) ?[:=] ?\d)).*$/i,
    counts: /(\d+) (?:tests? )?(?:failed|failures?|errors?)\b|\b(?:failed|failures?|errors?) ?[:=] ?(\d+)/gi,
    failure: /^\s*(?:\[?(?:FAIL|FAILED|FAILURE|ERROR|FATAL)\]?\b|[✖✗✘×❌●]|not ok\b|\d+\) \S|Error: |error: )|^\S+ (?:FATAL|ERROR)\b/,
    progress:
      /^\s*(?:[✔✓√] |ok \S|(?:PASS|PASSED|OK)\b|\[(?:PASS|PASSED|OK|INFO|DEBUG|TRACE)\] )|^(?:\S+ ){0,3}(?:INFO|DEBUG|TRACE)\b|(?:\.\.\.|:| -) ?(?:ok|OK|PASS|PASSED|passed)(?: \([^)]*\))?$/,
  },
];
