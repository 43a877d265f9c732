// Edits from the console in a real browser, on a gateway with a file: keys, modes, the configuration, and disabled edits.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { startGateway } from '../support/gateway.ts';
import { startProgram } from '../support/program/program.ts';
import { browserFor, filled, pressed, violations } from './visits.ts';

test('a key is created, its secret shown once, and edited, rotated, paused, resumed and revoked', { timeout: 240_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using program = await startProgram({ here: true });
  const file = (): string => readFileSync(program.path, 'utf8');
  await page.open(`http://127.0.0.1:${program.draft.admin.port}/keys`);
  await page.sees('Pool team');
  await pressed(page, 'New key');
  await page.until(`document.querySelector('dialog [name="id"]') === document.activeElement`);
  assert.deepEqual(await violations(page), []);
  await filled(page, '[name="id"]', 'laptop');
  await filled(page, '[name="models"]', 'model-a');
  await filled(page, '[name="effort_mode"]', 'allow_up_to');
  await filled(page, '[name="effort"]', 'high');
  await filled(page, '[name="requests_per_day"]', '25');
  await pressed(page, 'Create');
  await page.sees('Secret of laptop');
  const secret: string = await page.evaluate(`document.querySelector('dialog pre').innerText`);
  assert.match(secret, /^pg-/);
  assert.ok(file().includes(hash('sha256', secret, 'hex')) && !file().includes(secret));
  await pressed(page, 'Close');
  await page.sees('0 of 25 requests per day');
  assert.ok(!(await page.evaluate('document.documentElement.outerHTML')).includes(secret), 'it is gone');
  const usage = await fetch(`${program.url}/v1/usage`, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal(usage.status, 200, 'the key is in force');
  await page.open(`http://127.0.0.1:${program.draft.admin.port}/keys?id=laptop`);
  await page.sees('up to high');
  await pressed(page, 'Edit');
  await page.until(`document.querySelector('dialog [name="requests_per_day"]')?.value === '25'`);
  await filled(page, '[name="requests_per_day"]', '');
  await filled(page, '[name="usd_per_day"]', '2.5');
  await filled(page, '[name="models"]', '');
  await pressed(page, 'Save');
  await page.sees('$0.00 of $2.50 per day');
  await page.until(`!document.body.innerText.includes('requests per day')`);
  await pressed(page, 'Rotate');
  await page.sees('A further secret is made.');
  await pressed(page, 'Make a secret');
  await page.sees('Further secret of laptop');
  const further: string = await page.evaluate(`document.querySelector('dialog pre').innerText`);
  assert.notEqual(further, secret);
  await pressed(page, 'Close');
  await page.until(`!document.querySelector('dialog')`);
  await pressed(page, 'Pause');
  await page.until(`document.querySelector('tbody .state').innerText === 'paused'`);
  await pressed(page, 'Resume');
  await page.until(`document.querySelector('tbody .state').innerText === 'active'`);
  await pressed(page, 'Revoke');
  await pressed(page, 'Revoke for ever');
  await page.sees('revoked for ever');
  const refused = await fetch(`${program.url}/v1/usage`, { headers: { authorization: `Bearer ${further}` } });
  assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'api_key_disabled');
  assert.deepEqual(page.errors, []);
});

test('an edit of a key keeps the seconds of its expiry, which the field does not show', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using program = await startProgram({
    here: true,
    config: (draft) => {
      draft.keys[0].expires_at = '2099-01-01T00:00:30Z';
    },
  });
  const key = () => parse(readFileSync(program.path, 'utf8')).keys[0];
  await page.open(`http://127.0.0.1:${program.draft.admin.port}/keys?id=ci`);
  await page.sees('expires 1 Jan 2099');
  await pressed(page, 'Edit');
  await page.until(`document.querySelector('dialog [name="expires_at"]')?.value`);
  await filled(page, '[name="usd_per_day"]', '12000');
  await pressed(page, 'Save');
  await page.sees('$0.00 of $12,000.00 per day');
  assert.equal(key().expires_at, '2099-01-01T00:00:30Z');
  await page.until(`!document.querySelector('dialog')`);
  await pressed(page, 'Edit');
  await page.until(`document.querySelector('dialog [name="expires_at"]')`);
  await filled(page, 'dialog [name="expires_at"]', '');
  await pressed(page, 'Save');
  await page.until(`!document.querySelector('dialog')`);
  assert.equal(key().expires_at, undefined);
});

test('a token is made for a new operator and for a known one, shown once, and revoked; the operator goes with its last one', {
  timeout: 240_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using program = await startProgram({ here: true });
  const content = () => parse(readFileSync(program.path, 'utf8')).operators ?? [];
  await page.open(`http://127.0.0.1:${program.draft.admin.port}/operators`);
  await page.sees('There is no operator yet');
  await pressed(page, 'New token');
  await page.until(`document.querySelector('dialog [name="operator"]')`);
  assert.deepEqual(await violations(page), []);
  await filled(page, '[name="operator"]', 'ops');
  await page.evaluate(`document.querySelector('[name="owns"][value="team"]').click()`);
  await pressed(page, 'Make a token');
  await page.sees('Token of ops');
  const secret: string = await page.evaluate(`document.querySelector('dialog pre').innerText`);
  assert.match(secret, /^pg-mcp-/);
  const first = hash('sha256', secret, 'hex');
  assert.deepEqual(content(), [{ id: 'ops', token_sha256: [first], owns: ['team'] }]);
  await pressed(page, 'Close');
  await page.until(`!document.querySelector('dialog') && document.querySelectorAll('tbody li').length === 1`);
  assert.ok(!(await page.evaluate('document.documentElement.outerHTML')).includes(secret), 'it is gone');
  await pressed(page, 'New token');
  await page.until(`document.querySelector('dialog select')`);
  await filled(page, 'dialog select', 'ops');
  await page.until(`!document.querySelector('dialog [name="operator"]')`);
  await pressed(page, 'Make a token');
  await page.sees('Token of ops');
  await pressed(page, 'Close');
  await page.until(`!document.querySelector('dialog') && document.querySelectorAll('tbody li').length === 2`);
  await pressed(page, 'Revoke');
  await page.sees('Its requests and sessions are refused from now on.');
  await pressed(page, 'Revoke for ever');
  await page.until(`document.querySelectorAll('tbody li').length === 1`);
  assert.equal(content()[0].token_sha256.includes(first), false);
  await pressed(page, 'Revoke');
  await page.sees('the operator ops is removed with it');
  await pressed(page, 'Revoke for ever');
  await page.sees('There is no operator yet');
  assert.deepEqual(page.errors, []);
});

test('a mode is set; the configuration shows the file, its errors at their lines, what a reload would change, and reloads', {
  timeout: 240_000,
}, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using program = await startProgram({ here: true });
  const origin = `http://127.0.0.1:${program.draft.admin.port}`;
  await page.open(`${origin}/models?id=model-a`);
  await page.until(`document.querySelector('select[aria-label="Mode of model-a in team"]')`);
  await filled(page, 'select[aria-label="Mode of model-a in team"]', 'lite');
  await page.sees('set by the configuration');
  assert.match(readFileSync(program.path, 'utf8'), /model-a"?: "?lite/);
  await page.open(`${origin}/configuration`);
  await page.sees('this is what runs');
  assert.deepEqual(await violations(page), []);
  const shown: string = await page.evaluate(`document.querySelector('.file').innerText.replace(/^ *\\d+/gm, '')`);
  assert.match(shown, /^listen:\n +port: 0\nadmin:/, 'line by line');
  assert.ok(
    !(await page.evaluate('document.body.innerText')).includes(String(program.draft.keys[0].secret_sha256[0])),
    'no hash of a secret',
  );
  const good = readFileSync(program.path, 'utf8');
  writeFileSync(program.path, `nonsense: 1\n${good}`);
  await pressed(page, 'Read the file again');
  await page.sees('the gateway goes on with what it read before');
  await page.sees('nonsense');
  assert.ok((await page.evaluate(`document.querySelectorAll('.found .remark').length`)) >= 1, 'at its line');
  const starts = `new Set([...document.querySelectorAll('.file .line-number')].map((one) => one.getBoundingClientRect().left)).size`;
  assert.equal(await page.evaluate(starts), 1, 'each line begins at the margin, also after a finding');
  await page.until(`document.querySelector('.actions .primary')`);
  await pressed(page, 'Reload');
  await page.until(`/the file has errors: line \\d+/.test(document.body.innerText)`);
  await page.open(`${origin}/`);
  await page.sees('The last reload was refused');
  await page.open(`${origin}/configuration`);
  writeFileSync(program.path, good);
  await page.until(`document.querySelector('.actions .primary')`);
  await pressed(page, 'Reload');
  await page.until(`/Reloaded|says what runs already/.test(document.body.innerText)`);
  await page.sees('this is what runs');
});

test('where the file cannot be written, edits are off and say why', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  // A gateway in the process of the test has no file.
  await using gate = await startGateway();
  for (const path of ['/keys', '/models', '/operators', '/configuration']) {
    await page.open(gate.adminUrl + path);
    await page.sees('Edits are off: ');
  }
  await page.open(`${gate.adminUrl}/keys`);
  await page.until(`document.querySelector('tbody button')`);
  assert.equal(
    await page.evaluate(`[...document.querySelectorAll('button')].find(({ innerText }) => innerText === 'New key').disabled`),
    true,
  );
  assert.equal(
    await page.evaluate(`[...document.querySelectorAll('button')].find(({ innerText }) => innerText === 'Edit').disabled`),
    true,
  );
});
