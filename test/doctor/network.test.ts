// The network checks of `doctor` with real servers: generated certificates, wrong clocks, silent servers.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { selfSigned } from '../support/network/certificate.ts';
import { httpProxy } from '../support/network/proxies.ts';
import { doctor, fileFor, httpAccount, listening, SECRET, tlsAccount, trust } from './support.ts';

const DAY_MS = 86_400_000;
const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS + 60_000);
const certificate = (days: number, host = 'localhost') => selfSigned({ host, from: inDays(-100), until: inDays(days) });
const dated = (ms: number): string => new Date(Date.now() + ms).toUTCString();

test('an expired certificate is a problem, one that ends within two weeks a warning, a later one is fine', async (context) => {
  const [late, soon, fine] = [certificate(-1), certificate(13), certificate(14)];
  trust(context, [late, soon, fine]);
  const accounts = [await tlsAccount(context, late), await tlsAccount(context, soon), await tlsAccount(context, fine)];
  const report = await doctor(fileFor(context, { accounts }));
  assert.deepEqual(report.of('certificate'), [
    `problem: The certificate of ${accounts[0]} has expired.`,
    `warning: The certificate of ${accounts[1]} is valid for 13 more days.`,
    `ok: The certificate of ${accounts[2]} is valid for 14 more days.`,
  ]);
  assert.deepEqual([report.code, report.ok], [1, false]);
  assert.match(
    report.of('connection')[0] ?? '',
    /^ok: https:\/\/localhost:\d+ \(account-0\) is connected after \d+ ms, and answers after \d+ ms\.$/,
  );
  assert.match(report.of('dns')[0] ?? '', /^ok: localhost has \d address(?:es)?, found after \d+ ms\.$/);
});

test('a certificate is a problem if its host is another, it begins later, or its authority is not trusted', async (context) => {
  const other = certificate(50, 'other.example');
  const early = selfSigned({ host: 'localhost', from: inDays(1), until: inDays(2) });
  trust(context, [other, early]);
  const accounts = [await tlsAccount(context, other), await tlsAccount(context, early), await tlsAccount(context, certificate(50))];
  const report = await doctor(fileFor(context, { accounts }));
  assert.deepEqual(report.of('certificate'), [
    `problem: The certificate of ${accounts[0]} is for another host.`,
    `problem: The certificate of ${accounts[1]} is not valid yet, or the clock of this machine is wrong.`,
    `problem: The certificate of ${accounts[2]} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT).`,
  ]);
  assert.deepEqual(
    report.checks.flatMap(({ check, advice }) => (check === 'certificate' ? [advice] : [])),
    [
      'Correct the host of the address in config.yaml. It has to be one of those in the certificate: other.example.',
      'Correct the clock of this machine, or inform the provider.',
      'Name the file of its certificate authority in tls.ca of the account, if the authority is your own. Else inform the provider.',
    ],
  );
});

for (const [aheadMs, expected] of [
  [3_600_000, /^problem: The clock of this machine is (?:3599|3600|3601) s behind that of the accounts\.$/],
  [-20_000, /^warning: The clock of this machine is (?:19|20|21) s ahead of that of the accounts\.$/],
  [2_000, /^ok: The clock agrees with that of the accounts\.$/],
] as const) {
  test(`the Date of an account ${aheadMs} ms ahead is compared with the clock`, async (context) => {
    const account = await httpAccount(context, (_request, response) => void response.writeHead(404, { date: dated(aheadMs) }).end());
    const report = await doctor(fileFor(context, { accounts: [account] }));
    assert.equal(report.of('clock').length, 1);
    assert.match(report.of('clock')[0] ?? '', expected);
    assert.equal(report.code, aheadMs > 1_000_000 ? 1 : 0);
  });
}

test('one account with a wrong clock does not make that of the machine wrong', async (context) => {
  const ahead = [0, 3_600_000, 0];
  const accounts = await Promise.all(
    ahead.map((ms) => httpAccount(context, (_, response) => void response.writeHead(200, { date: dated(ms) }).end())),
  );
  assert.deepEqual((await doctor(fileFor(context, { accounts }))).of('clock'), ['ok: The clock agrees with that of the accounts.']);
});

test('each step has a deadline: a silent TLS server, one that never answers, and no server', async (context) => {
  const silent = `https://127.0.0.1:${await listening(context, createServer())}`;
  const mute = await httpAccount(context, () => undefined);
  const closed = 'http://127.0.0.1:1';
  const path = fileFor(context, { accounts: [silent, mute, closed] });
  const report = await doctor(path);
  assert.deepEqual(report.of('connection'), [
    `problem: ${silent} (account-0) cannot be connected to (nothing for 2000 ms).`,
    `warning: ${mute} (account-1) accepts connections, and did not answer HEAD / (nothing for 2000 ms).`,
    `problem: ${closed} (account-2) cannot be connected to (ECONNREFUSED).`,
  ]);
  assert.deepEqual([report.code, report.of('clock')], [1, []]);
});

test('a host without an address is a problem', async (context) => {
  const report = await doctor(fileFor(context, { accounts: ['https://nowhere.invalid'] }));
  assert.match(report.of('dns')[0] ?? '', /^problem: The host of https:\/\/nowhere\.invalid \(account-0\) has no address \(.+\)\.$/);
  assert.deepEqual([report.code, report.of('connection')], [1, []]);
});

test('accounts of one address and its token endpoint are asked once, without a credential; --offline asks none', async (context) => {
  const seen: string[] = [];
  const address = await httpAccount(context, ({ method, url, headers }, response) => {
    seen.push(`${method} ${url} ${Object.keys(headers).sort()}`);
    response.end();
  });
  const oauth = `{ oauth: { file: token-0, token_url: "${address}/token", client_id: c } }`;
  const path = fileFor(context, { accounts: [address, address] });
  writeFileSync(path, readFileSync(path, 'utf8').replace('{ bearer: { file: token-0 } }', oauth));
  writeFileSync(path.replace('config.yaml', 'token-0'), JSON.stringify({ access_token: SECRET }));
  assert.equal((await doctor(path, ['--offline'])).of('connection').length, 0);
  assert.deepEqual(seen, []);
  const report = await doctor(path);
  assert.match(report.of('connection').join(), new RegExp(`^ok: ${address} \\(account-0, login of account-0, account-1\\) is connected`));
  assert.deepEqual(seen, ['HEAD / connection,host']);
  assert.ok(!report.out.includes(SECRET));
});

test('an account behind a proxy is asked through it, without looking its name up here', async (context) => {
  await using proxy = await httpProxy();
  const account = await httpAccount(context, (_, response) => void response.writeHead(200).end());
  const path = fileFor(context, { accounts: [account] });
  writeFileSync(path, readFileSync(path, 'utf8').replace('credential:', `proxy: { url: "http://127.0.0.1:${proxy.port}" }, credential:`));
  const report = await doctor(path);
  assert.match(
    report.of('connection')[0] ?? '',
    /^ok: http:\/\/127\.0\.0\.1:\d+ \(account-0\) through its proxy is connected after \d+ ms, and answers after \d+ ms\.$/,
  );
  assert.deepEqual(proxy.opened, [account.replace('http://', '')]);
});

test('a proxy that refuses is a problem with its answer', async (context) => {
  await using proxy = await httpProxy({ refuse: 403 });
  const account = await httpAccount(context, (_, response) => void response.writeHead(200).end());
  const path = fileFor(context, { accounts: [account] });
  writeFileSync(path, readFileSync(path, 'utf8').replace('credential:', `proxy: { url: "http://127.0.0.1:${proxy.port}" }, credential:`));
  const report = await doctor(path);
  assert.match(report.of('connection')[0] ?? '', /^problem: .* through its proxy cannot be connected to \(the proxy answered 403\)\.$/);
});
