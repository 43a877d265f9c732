// `mode set`: serving modes in the file.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALONE, configOf, fileWith } from '../../config/files.ts';
import { startProgram } from '../../support/program/program.ts';
import { until } from '../../support/until.ts';
import { poolgate } from '../run.ts';

test('[PL3] mode set writes lite and full, and auto removes the row', async (context) => {
  const path = fileWith(context, ALONE);
  const set = (mode: string) => poolgate(['mode', 'set', 'team', 'model-a', mode, '--config', path]);
  const modes = async () => ({ ...(await configOf(path)).pools[0]?.serving_modes });
  assert.equal((await set('lite')).out, 'model-a in Pool team is lite\n');
  assert.deepEqual(await modes(), { 'model-a': 'lite' });
  await set('full');
  assert.deepEqual(await modes(), { 'model-a': 'full' });
  assert.equal((await set('full')).out, 'model-a in Pool team is already full\n');
  await set('auto');
  assert.deepEqual(await modes(), {});
  assert.ok(!readFileSync(path, 'utf8').includes('model-a'));
});

test('[PL5] a serving mode can be set for a suppressed or unknown model', async (context) => {
  const path = fileWith(context, ALONE.replace('    assignments:', '    models: { retired: { suppressed: true } }\n    assignments:'));
  for (const [model, mode] of [
    ['retired', 'lite'],
    ['never-seen', 'full'],
    ['retired', 'full'],
  ] as const) {
    assert.equal((await poolgate(['mode', 'set', 'team', model, mode, '--config', path])).code, 0);
  }
  assert.deepEqual({ ...(await configOf(path)).pools[0]?.serving_modes }, { retired: 'full', 'never-seen': 'full' });
});

test('an edit that names a model which no account of the running gateway lists is made, with a note', async () => {
  await using program = await startProgram({ here: true });
  await until('readiness', async () => (await program.poolgate('health', '--ready')).code === 0 || undefined);
  const note = "note: no account of the running gateway lists the model 'model-aa'; did you mean 'model-a'?\n";
  assert.deepEqual((await program.poolgate('mode', 'set', 'team', 'model-a', 'lite')).err, '');
  const set = await program.poolgate('mode', 'set', 'team', 'model-aa', 'lite');
  assert.deepEqual([set.code, set.out, set.err], [0, 'model-aa in Pool team is lite\n', note]);
  assert.equal((await program.poolgate('key', 'edit', 'ci', '--model', 'model-aa', '--model', 'model-a')).err, note);
  assert.ok((await program.poolgate('key', 'create', 'new', '--model', 'model-aa')).err.startsWith(note));
  assert.match((await program.poolgate('key', 'list')).out, /^new .* model-aa +none$/m);
});

test('[PL6] mode set accepts only auto, lite and full', async (context) => {
  const path = fileWith(context, ALONE);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the command must not interpolate it
  for (const mode of ['${MODE}', '$MODE', 'true', 'LITE']) {
    const { code, err } = await poolgate(['mode', 'set', 'team', 'model-a', mode, '--config', path], { MODE: 'lite' });
    assert.equal(code, 2);
    assert.match(err, /Allowed choices are auto, lite, full/);
  }
  assert.equal(readFileSync(path, 'utf8'), ALONE);
});
