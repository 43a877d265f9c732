// The ON CONFLICT clause of a table, for both engines.
import type { Table, TableColumns } from '../schema/tables.ts';

/** The new value of a column. In a table with decision times it replaces only an older decision, because queued writes may arrive late. */
function replacing({ name, decidedAt }: TableColumns, column: string): string {
  const at = decidedAt?.get(column);
  if (at === undefined) return `${column} = excluded.${column}`;
  return `${column} = CASE WHEN excluded.${at} >= ${name}.${at} THEN excluded.${column} ELSE ${name}.${column} END`;
}

/** @param absent columns that the patches of this statement do not have */
export function onConflict(table: TableColumns, absent: readonly string[]): string {
  const { name, columns, key, onConflict: rule } = table;
  const replaced = columns.filter((column) => !absent.includes(column));
  const added = columns.filter((column) => !key.includes(column));
  const replace = `UPDATE SET ${replaced.map((column) => replacing(table, column)).join(', ')}`;
  const updates: Readonly<Record<Table['onConflict'], string>> = {
    keep: 'NOTHING',
    replace,
    patch: replace,
    add: `UPDATE SET ${added.map((column) => `${column} = ${name}.${column} + excluded.${column}`).join(', ')}`,
  };
  return `ON CONFLICT (${key.join(', ')}) DO ${updates[rule]}`;
}
