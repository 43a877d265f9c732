// The sheet of measured figures, by figure and contender, with one value for each run.
import type { Stage } from '../stage.ts';
import type { Runs } from './statistics.ts';

export class Sheet {
  readonly #figures = new Map<string, Map<string, number[]>>();

  add(figure: string, contender: string, value: number): void {
    const contenders = this.#figures.get(figure) ?? new Map<string, number[]>();
    this.#figures.set(figure, contenders);
    const runs = contenders.get(contender);
    if (runs) runs.push(value);
    else contenders.set(contender, [value]);
  }

  of(figure: string): ReadonlyMap<string, Runs> {
    return this.#figures.get(figure) ?? new Map();
  }
}

/** The length and the number of runs. */
export interface Effort {
  readonly runs: number;
  /** An even whole number. */
  readonly seconds: number;
  /** The number of rounds for figures that are compared in stretches of a second. */
  readonly rounds: number;
  /** The length of a load at scale. */
  readonly minutes: number;
}

export interface Measurement {
  readonly stage: Stage;
  readonly effort: Effort;
  readonly sheet: Sheet;
}

export type Scenario = (measurement: Measurement) => Promise<void>;

/** Measures every contender once in each run; each run begins with another contender. */
export async function alternate<C>(runs: number, contenders: readonly C[], measure: (contender: C) => Promise<void>): Promise<void> {
  for (let run = 0; run < runs; run++) {
    for (let i = 0; i < contenders.length; i++) await measure(contenders[(i + run) % contenders.length] as C);
  }
}
