// The ON CONFLICT clause of a table, the same for both engines.
import type { Table } from './tables.ts';

/** @param absent columns that the patches of this statement do not have */
export function onConflict({ name, columns, key, onConflict: rule }: Table, absent: readonly string[]): string {
  const replaced = columns.filter((column) => !absent.includes(column));
  const added = columns.filter((column) => !key.includes(column));
  const replacing = `UPDATE SET ${replaced.map((column) => `${column} = excluded.${column}`).join(', ')}`;
  const updates: Readonly<Record<Table['onConflict'], string>> = {
    keep: 'NOTHING',
    replace: replacing,
    patch: replacing,
    add: `UPDATE SET ${added.map((column) => `${column} = ${name}.${column} + excluded.${column}`).join(', ')}`,
  };
  return `ON CONFLICT (${key.join(', ')}) DO ${updates[rule]}`;
}
