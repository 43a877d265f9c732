// Fields of rows that operators read, each described once. Tables, checks of replies and schemas of tools derive from the description.
import type { ColumnType } from './decoders.ts';

declare const VALUE: unique symbol;

/** A field whose values have the type `Value`. */
export interface Described<Value = unknown> {
  readonly type: ColumnType;
  /** The meaning, for operators. It has no data of rows. */
  readonly meaning: string;
  readonly isNullable?: true;
  /** An instant, in Unix milliseconds. */
  readonly isTime?: true;
  /** Whether only the admin listener returns it, and tools do not (Q25). */
  readonly isInternal?: true;
  /** The values that the text may have. */
  readonly oneOf?: readonly string[];
  /** Known values with their meanings, or known names in a map of counts. Others may occur. */
  readonly words?: Words;
  /** The members of a JSON value; absent for a map from unknown names to numbers. */
  readonly members?: Description;
  /** The names of members that may be absent. */
  readonly optional?: readonly string[];
  /** Never present; carries the type for inference. */
  readonly [VALUE]?: Value;
}

export type Words = Readonly<Record<string, string>>;

/** The fields of a row, in the order in which they are shown. */
export type Description = Readonly<Record<string, Described>>;

/** The row that a description describes. */
export type DescribedRow<Fields extends Description> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Described<infer Value> ? Value : never;
};

export const text = (meaning: string, words?: Words): Described<string> => ({ type: 'text', meaning, ...(words && { words }) });

export const oneOf = <const Word extends string>(words: readonly Word[], meaning: string): Described<Word> => ({
  type: 'text',
  meaning,
  oneOf: words,
});

export const integer = (meaning: string): Described<number> => ({ type: 'integer', meaning });

export const time = (meaning: string): Described<number> => ({ type: 'integer', meaning, isTime: true });

export const flag = (meaning: string): Described<boolean> => ({ type: 'boolean', meaning });

/** A map from names to numbers. */
export const counts = (meaning: string, words?: Words): Described<Readonly<Record<string, number>>> => ({
  type: 'json',
  meaning,
  ...(words && { words }),
});

/** @param optional members that may be absent */
export const object = <Members extends Description, Optional extends Description>(
  meaning: string,
  members: Members,
  optional: Optional,
): Described<DescribedRow<Members> & Partial<DescribedRow<Optional>>> => ({
  type: 'json',
  meaning,
  members: { ...members, ...optional },
  optional: Object.keys(optional),
});

export const nullable = <Value>(field: Described<Value>): Described<Value | null> =>
  ({ ...field, isNullable: true }) as Described<Value | null>;

export const internal = <Value>(field: Described<Value>): Described<Value> => ({ ...field, isInternal: true });
