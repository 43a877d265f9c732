// Work in steps: the scan of a long text is cut into steps of about a millisecond, so that other turns need not wait for its end.

/** Work that yields between steps and returns its result. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** The number of lines in a step. */
export const LINES_AT_A_TIME = 1_500;

/** Whether a loop over lines should yield after the line with this index. */
export const isStep = (index: number): boolean => index % LINES_AT_A_TIME === LINES_AT_A_TIME - 1;
