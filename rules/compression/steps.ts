// Work in steps: the scan of a long text is cut into pieces of about a millisecond, so that other turns need not wait for its end.

/** Work that yields if it can be interrupted, and returns its result. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Lines of a text that a step may take. */
export const LINES_AT_A_TIME = 1_500;

/** Whether a loop over lines should yield after the line with this index. */
export const isStep = (index: number): boolean => index % LINES_AT_A_TIME === LINES_AT_A_TIME - 1;
