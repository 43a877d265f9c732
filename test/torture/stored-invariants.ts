// The invariants of the database after every round: a row for each answer that a client got, usage that is the sum of the rows, and an
// intact file.
import type { Allowances } from './attack.ts';
import type { Lane } from './stage/lane.ts';
import { keyId } from './stage/settings.ts';
import type { Stage } from './stage/stage.ts';

/** The most findings of one kind that are printed. */
const MOST_TOLD = 10;

/** Checks that every answer with a request id has one row, with its status, and with the usage that the client saw. */
export async function rowsAsTold(stage: Stage, { unequalRows = false }: Allowances): Promise<readonly string[]> {
  await stage.admin('/api/requests?limit=1');
  const rows = await stage.database.all('SELECT id, status, input_tokens, output_tokens, tokens_estimated FROM requests');
  const byId = new Map(rows.map((row) => [row.id, row]));
  const wrong: string[] = [];
  for (const lane of stage.lanes) {
    for (const [id, { status, usage }] of lane.told) {
      const row = byId.get(id);
      if (row?.status !== status) wrong.push(`${id} was told ${status}, its row says ${row?.status}`);
      else if (usage && (row.input_tokens !== usage[0] || row.output_tokens !== usage[1] || row.tokens_estimated !== 0)) {
        wrong.push(`${id} used ${usage}, its row says ${row.input_tokens},${row.output_tokens} (${row.tokens_estimated})`);
      }
    }
    lane.told.clear();
  }
  return unequalRows ? [] : wrong.slice(0, MOST_TOLD);
}

/** Checks that turns on websockets that clients of the first key saw to their end have rows with that end and their tokens. */
export async function framesAsTold(stage: Stage, { unequalRows = false }: Allowances): Promise<readonly string[]> {
  const rows = await stage.database.all(
    `SELECT key_id, count(*) AS turns, sum(input_tokens) AS input, sum(output_tokens) AS output
     FROM requests WHERE method = 'WS' AND outcome = 'completed' AND tokens_estimated = 0 GROUP BY key_id`,
  );
  const wrong: string[] = [];
  for (const lane of stage.lanes) {
    const row = rows.find(({ key_id }) => key_id === keyId(lane.number, 'as ever'));
    const stored = [Number(row?.turns ?? 0), Number(row?.input ?? 0), Number(row?.output ?? 0)];
    const { turns, input, output } = lane.frames;
    const told = [turns, input, output].map((count, i) => count + (lane.framesBefore[i] ?? 0));
    if (told.some((count, i) => count !== stored[i]))
      wrong.push(`lane ${lane.number}: ${told} turns and tokens on websockets; rows: ${stored}`);
    lane.framesBefore = stored;
    Object.assign(lane.frames, { turns: 0, input: 0, output: 0 });
  }
  return unequalRows ? [] : wrong.slice(0, MOST_TOLD);
}

/**
 * Checks that the usage of each key is the sum of its rows, in the store and as its client reads it, and that nothing of it is reserved.
 */
export async function usageAsRows(stage: Stage): Promise<readonly string[]> {
  await stage.admin('/api/requests?limit=1');
  const settled = await stage.database.all(
    'SELECT key_id, sum(requests) AS requests, sum(input_tokens) AS input, sum(output_tokens) AS output FROM usage GROUP BY key_id',
  );
  const rows = await stage.database.all(`SELECT key_id, sum(coalesce(input_tokens, 0)) AS input, sum(coalesce(output_tokens, 0)) AS output
     FROM requests WHERE account IS NOT NULL GROUP BY key_id`);
  const wrong: string[] = [];
  for (const { key_id, input, output } of rows) {
    const own = settled.find((row) => row.key_id === key_id);
    if (own?.input !== input || own?.output !== output)
      wrong.push(`usage of ${key_id}: ${own?.input},${own?.output}; its rows: ${input},${output}`);
  }
  for (const lane of stage.lanes) wrong.push(...(await reservedBy(stage, lane)));
  return wrong;
}

async function reservedBy(stage: Stage, lane: Lane): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${lane.keyFor('as ever')}` };
  const usage = (await (await fetch(`${stage.program.url}/v1/usage`, { headers })).json()) as {
    limits: { limit_type: string; limit_window: string; current_value: number }[];
  };
  const running = usage.limits.find(({ limit_type }) => limit_type === 'concurrent');
  return running?.current_value === 0 ? [] : [`lane ${lane.number}: ${running?.current_value} turns still reserved`];
}

export async function intactDatabase(stage: Stage): Promise<readonly string[]> {
  const [answer] = await stage.database.all('PRAGMA integrity_check');
  return answer?.integrity_check === 'ok' ? [] : [`integrity_check: ${JSON.stringify(answer)}`];
}
