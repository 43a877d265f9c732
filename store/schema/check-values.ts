// Check values: values that all nodes on a database must have in common. The first node stores its own.
import type { Driver } from '../driver.ts';

export interface CheckValueVerbs {
  /** Whether the store has this value under the name. If the store has none yet, it stores this one. */
  agree(name: string, value: string): Promise<boolean>;
  forget(name: string): Promise<void>;
}

export function checkValueVerbs({ run, transaction }: Pick<Driver, 'run' | 'transaction'>): CheckValueVerbs {
  return {
    agree: (name, value) =>
      transaction(async (session) => {
        await session.run('INSERT INTO check_values (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [name, value]);
        const [record] = await session.query('SELECT value FROM check_values WHERE name = $1', [name]);
        return record?.value === value;
      }),
    async forget(name) {
      await run('DELETE FROM check_values WHERE name = $1', [name]);
    },
  };
}
