// The running turns of an account stay counted whatever a reload does to the account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountLoads } from '../../../proxy/accounts/selection/account-load.ts';
import type { AccountConfig } from '../../../proxy/turn/settings.ts';

const north = { id: 'north', max_concurrent: 2 } as AccountConfig;

test('an account that is removed and added again has the turns that still run there', () => {
  const loads = new AccountLoads();
  loads.configure([north], () => 2);
  const load = loads.get('north');
  assert.ok(load);
  load.inFlight = 2;
  loads.configure([], () => 2);
  assert.equal(loads.get('north'), undefined);
  loads.configure([], () => 2);
  loads.configure([north], () => 3);
  assert.equal(loads.get('north'), load);
  assert.equal(load.capacity, 3);
});

test('an account whose turns ended while it was removed begins without any', () => {
  const loads = new AccountLoads();
  loads.configure([north], () => 2);
  const load = loads.get('north');
  assert.ok(load);
  load.inFlight = 1;
  loads.configure([], () => 2);
  load.inFlight = 0;
  loads.configure([], () => 2);
  loads.configure([north], () => 2);
  assert.equal(loads.get('north')?.inFlight, 0);
  assert.notEqual(loads.get('north'), load);
});
