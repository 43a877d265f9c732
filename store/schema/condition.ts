// What an engine's inspection found about its database, in a sentence for operators.

export interface StoreCondition {
  /** `problem`: the gateway does not work with this database, or will soon stop working. */
  readonly level: 'ok' | 'warning' | 'problem';
  /** A sentence without data of rows. */
  readonly message: string;
  /** What to do; absent if nothing has to be done. */
  readonly advice?: string;
}
