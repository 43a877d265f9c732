// An edit that the content of the file does not permit. The file is unchanged.
import { suggestion } from '../../schema/suggestion.ts';

/**
 * `unknown`: a row is missing. `state`: the content of the file does not permit the edit. `argument`: a value is wrong. `right`: the row
 * belongs to a Pool that the operator may not change.
 */
export type Objection = 'unknown' | 'state' | 'argument' | 'right';

/** An edit that is refused. Its message is for operators. */
export class InvalidEdit extends Error {
  override readonly name = 'InvalidEdit';
  readonly objection: Objection;
  /** The wrong argument. */
  readonly param: string | undefined;

  constructor(objection: Objection, message: string, param?: string) {
    super(message);
    this.objection = objection;
    this.param = param;
  }
}

/**
 * The index of the row with this id.
 * @param noun `key` or `Pool`, for the message
 * @throws {InvalidEdit} if there is no such row; the message suggests the nearest id
 */
export function indexIn(rows: readonly { readonly id: string }[], id: string, noun: string): number {
  const index = rows.findIndex((row) => row.id === id);
  if (index >= 0) return index;
  const ids = rows.map((row) => row.id);
  throw new InvalidEdit('unknown', `there is no ${noun} '${id}'${suggestion(id, ids)}`);
}
