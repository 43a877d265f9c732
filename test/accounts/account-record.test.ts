// The running turns of an account stay counted whatever a reload does to the account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountRecords, type CurrentAccount } from '../../proxy/accounts/account-record.ts';

const north = { config: { id: 'north', max_concurrent: 2 } } as CurrentAccount;

test('an account that is removed and added again has the turns that still run there', () => {
  const records = new AccountRecords();
  records.configure([north], () => 2);
  const record = records.configured('north');
  assert.ok(record);
  record.inFlight = 2;
  records.configure([], () => 2);
  assert.equal(records.configured('north'), undefined);
  records.configure([], () => 2);
  records.configure([north], () => 3);
  assert.equal(records.configured('north'), record);
  assert.equal(record.capacity, 3);
});

test('an account whose turns ended while it was removed begins without any', () => {
  const records = new AccountRecords();
  records.configure([north], () => 2);
  const record = records.configured('north');
  assert.ok(record);
  record.inFlight = 1;
  records.configure([], () => 2);
  record.inFlight = 0;
  records.configure([], () => 2);
  records.configure([north], () => 2);
  assert.equal(records.configured('north')?.inFlight, 0);
  assert.notEqual(records.configured('north'), record);
});
