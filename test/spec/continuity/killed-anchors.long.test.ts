// An anchor that a client has received survives a kill of the process (Q10).
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoreKey } from '../../../proxy/encryption/store-key.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { openStore } from '../../../store/store.ts';
import { startProgram } from '../../support/program/program.ts';
import { NATIVE, user } from '../../support/stages/continuity.ts';
import { until } from '../../support/until.ts';

const TURN = { model: 'model-a', input: [user('hello')], store: true, stream: false };

/** Opens the store file of a running program; `has` tells whether it has the pin of a response. */
async function pinReader(
  folder: string,
): Promise<{ readonly has: (id: string) => Promise<boolean>; readonly close: () => Promise<unknown> }> {
  const store = await openStore(`sqlite:${join(folder, 'data/poolgate.db')}`, { clock: Date.now });
  const digest = new StoreKey((await readFile(join(folder, 'data/store.key'), 'utf8')).trim()).digest('pins');
  // The digest covers kind, Pool, no key, and id; the store has its first 96 bits.
  const hashOf = (id: string): string => digest.of(`response\nteam\n\n${id}`).slice(0, 16);
  return { has: async (id) => (await store.pins.find(hashOf(id))) !== undefined, close: () => store.close() };
}

test('[Q10] a process that is killed as soon as the pin of a response is written has it at its next start', async () => {
  await using program = await startProgram({ upstream: { strict: false } });
  const ask = async (more: JsonObject = {}) => program.fetch(NATIVE, { body: { ...TURN, ...more } });
  const { id } = (await (await ask()).json()) as { readonly id: string };
  const pins = await pinReader(program.folder);
  await until('the pin in the file', async () => ((await pins.has(id)) ? true : undefined));
  await program.kill();
  await pins.close();
  const [made] = program.upstream.turns();
  program.save(({ pools: [{ assignments }] }) => {
    if (made?.account === assignments[0].account) assignments.reverse();
  });
  await program.run();
  assert.equal((await ask({ previous_response_id: id })).status, 200);
  assert.deepEqual(
    program.upstream.turns().map(({ account }) => account),
    [made?.account, made?.account],
  );
  const unknown = await ask({ previous_response_id: 'resp_of_no_process' });
  assert.equal(((await unknown.json()) as { error: { code: string } }).error.code, 'previous_response_not_found');
});
