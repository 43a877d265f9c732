// The page of nodes with two nodes on one database, and a filter that is being typed while the page updates itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { startNodes } from '../support/nodes/nodes.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { browserFor, violations } from './visits.ts';

test('where several nodes share a store, a part of the console lists them', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using nodes = await startNodes(['one', 'two']);
  await page.open(`${nodes.one.adminUrl}/`);
  await page.until(`[...document.querySelectorAll('nav a')].some(({ innerText }) => innerText === 'Nodes')`);
  await page.tabTo('Nodes');
  await page.press('Enter');
  await page.until(`document.querySelectorAll('tbody tr').length === 2`);
  await page.sees('runs, this node');
  await page.sees('It is a member');
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(page.errors, []);
});

test('what is typed into a filter stays while rows arrive', { timeout: 120_000 }, async (context) => {
  const page = await browserFor(context);
  if (!page) return;
  await using gate = await startGateway();
  const send = () => gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
  await send();
  await page.open(`${gate.adminUrl}/requests`);
  await page.until(`document.querySelectorAll('tbody tr').length === 1`);
  await page.tabTo('Code');
  await page.type('rate_');
  await send();
  await page.until(`document.querySelectorAll('tbody tr').length === 2`);
  assert.equal(await page.evaluate('document.activeElement.value'), 'rate_');
  await page.type('x');
  await page.press('Enter');
  await page.until(`location.search === '?code=rate_x'`);
  await page.sees('No request matches.');
});
